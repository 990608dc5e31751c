#include <tools/planning/parts.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace sluice::tools {

std::vector<plan_part> parts_of(const placed_plan& placed) {
  const auto& problem = placed.described.problem;
  const auto& made = placed.made;
  std::vector<std::uint32_t> home(problem.values.size(), plan_problem::none);
  for (std::uint32_t s = 0; s < problem.steps.size(); ++s)
    for (const auto v : problem.steps[s].outputs)
      home[v] = made.places[s];

  std::vector<plan_part> parts;
  std::map<std::uint32_t, std::size_t> open;                 // by device: its part
  std::set<std::pair<std::uint32_t, std::uint32_t>> arrived; // value, device
  std::set<std::pair<std::uint32_t, std::size_t>> weights;   // constant, part
  for (const auto s : made.schedule.order) {
    const auto& step = problem.steps[s];
    const auto d = made.places[s];
    std::size_t arriving = 0;
    bool from_elsewhere = false;
    for (const auto v : step.inputs) {
      const auto here = problem.values[v].fed_on ? *problem.values[v].fed_on == d : home[v] == d;
      if (here || !arrived.insert({v, d}).second)
        continue;
      arriving += problem.values[v].bytes;
      from_elsewhere = from_elsewhere || !problem.values[v].fed_on;
    }
    auto at = open.find(d);
    if (at == open.end() || from_elsewhere) {
      parts.push_back({.device = d, .steps = {}, .start_ns = made.schedule.firings[s].start_ns});
      at = open.insert_or_assign(d, parts.size() - 1).first;
    }
    auto& part = parts[at->second];
    part.steps.push_back(s);
    part.arriving_bytes += arriving;
    part.finish_ns = std::max(part.finish_ns, made.schedule.firings[s].finish_ns);
    part.work_ns += step.time_ns[d];
    for (const auto v : step.outputs)
      part.made_bytes += problem.values[v].bytes;
    for (const auto c : step.constants)
      if (weights.insert({c, at->second}).second)
        part.weight_bytes += problem.constants[c].bytes;
  }
  return parts;
}

} // namespace sluice::tools
