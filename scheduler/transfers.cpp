#include <sluice/scheduler/transfers.hpp>

#include <sluice/scheduler/plan.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace sluice {

namespace {

plan_step transfer(const plan& p, edge_index e, std::uint32_t from, std::uint32_t to, value_type type) {
  plan_step made;
  made.moves = e;
  made.from = from;
  made.device = to;
  made.why =
      "brings '" + p.source->at_edge(e).name + "' from " + p.devices[from].name + " to " + p.devices[to].name;
  made.routes.resize(1);
  made.input_types = {type};
  made.output_types = {std::move(type)};
  return made;
}

} // namespace

transfer_table::transfer_table(plan& p, std::span<const value> known, std::span<const value_type> types)
  : home_(p.source->edges().size()) {
  const auto& g = *p.source;
  std::vector<plan_step> steps;
  const auto bring = [&](edge_index e, std::uint32_t to) {
    if (home_[e] != to && steps_.try_emplace({e, to}, static_cast<std::uint32_t>(steps.size())).second)
      steps.push_back(transfer(p, e, home_[e], to, types[e]));
  };
  for (auto& step : p.steps) {
    const auto& n = g.at(step.node);
    const auto memory = p.memory_of(step.device);
    for (const auto e : n.inputs)
      if (e != no_edge && known[e].empty())
        bring(e, memory);
    for (const auto e : n.outputs)
      home_[e] = memory;
    p.step_of[step.node] = static_cast<std::uint32_t>(steps.size());
    steps.push_back(std::move(step));
  }
  for (const auto e : p.fetch)
    if (known[e].empty())
      bring(e, 0);
  p.steps = std::move(steps);
}

void assign_streams(plan& p) {
  const auto& g = *p.source;
  struct branch {
    std::uint32_t stream;
    edge_index end; // the value, not a view of it
  };
  std::map<edge_index, branch> branches; // by the value that ends it, and by views of that
  std::set<edge_index> continued;
  std::vector<std::uint32_t> streams(p.devices.size()); // used, by device
  for (auto& step : p.steps) {
    if (step.node == no_node || p.memory_of(step.device) == 0)
      continue;
    const auto& n = g.at(step.node);
    const auto ends_here = [&](edge_index e) {
      const auto at = branches.find(e);
      if (at == branches.end())
        return false;
      const auto producer = p.step_of[g.at_edge(e).producer];
      return p.steps[producer].device == step.device && !continued.contains(at->second.end);
    };
    if (step.view) {
      const auto at = branches.find(n.inputs[0]);
      if (at != branches.end())
        branches[n.outputs[0]] = at->second;
      continue;
    }
    const auto before = std::find_if(n.inputs.begin(), n.inputs.end(), ends_here);
    if (before != n.inputs.end()) {
      const auto& b = branches.at(*before);
      step.stream = b.stream;
      continued.insert(b.end);
    } else {
      step.stream = streams[step.device]++;
    }
    for (const auto e : n.outputs)
      branches[e] = {step.stream, e};
  }
}

} // namespace sluice
