#include <sluice/scheduler/placed_memory.hpp>

#include <algorithm>
#include <set>

namespace sluice {

namespace {

using index = memory_graph::index;

class describer {
public:
  describer(const plan& p, const placed_plan& placed, std::uint32_t device)
    : plan_(p), described_(placed.described), problem_(placed.described.problem), made_by_(placed.made),
      device_(device), buffer_of_(problem_.values.size(), memory_graph::none),
      departs_(problem_.values.size()), arrives_(problem_.values.size()), nearest_(problem_.steps.size()),
      maker_(problem_.values.size(), plan_problem::none) {
    for (const auto& t : made_by_.schedule.transfers) {
      const auto& link = problem_.links[t.link];
      departs_[t.value] = departs_[t.value] || link.from == device;
      arrives_[t.value] = arrives_[t.value] || link.to == device;
    }
  }

  placed_memory describe() {
    for (std::uint32_t v = 0; v < problem_.values.size(); ++v)
      if (problem_.values[v].fed_on && arrives_[v])
        arrive(v, {});
    for (std::uint32_t s = 0; s < problem_.steps.size(); ++s)
      visit(s);
    return std::move(made_);
  }

private:
  void visit(std::uint32_t s) {
    const auto& step = problem_.steps[s];
    const auto here = made_by_.places[s] == device_;
    if (here)
      fire(s);
    else
      nearest_[s] = before(step);
    for (const auto v : step.outputs) {
      maker_[v] = s;
      if (here && departs_[v] && buffer_of_[v] != memory_graph::none)
        depart(v);
      if (!here && arrives_[v])
        arrive(v, nearest_[s]);
    }
  }

  /// The last steps here that a step elsewhere waits for.
  [[nodiscard]] std::vector<index> before(const placement_problem::step& step) const {
    std::set<index> all;
    for (const auto v : step.inputs)
      if (maker_[v] != plan_problem::none)
        all.insert(nearest_[maker_[v]].begin(), nearest_[maker_[v]].end());
    return {all.begin(), all.end()};
  }

  index add_step(placed_memory::step what, double ns) {
    made_.steps.push_back(what);
    made_.graph.steps.emplace_back();
    made_.graph.steps.back().ns = ns;
    return static_cast<index>(made_.graph.steps.size() - 1);
  }

  index add_buffer(std::string name, std::size_t bytes, bool leaves) {
    made_.graph.buffers.push_back({bytes, leaves});
    made_.buffers.push_back(std::move(name));
    return static_cast<index>(made_.graph.buffers.size() - 1);
  }

  void fire(std::uint32_t s) {
    const auto& step = problem_.steps[s];
    const auto at = add_step({placed_memory::step::kind::firing, s}, step.time_ns[device_]);
    nearest_[s] = {at};
    auto& made = made_.graph.steps[at];
    for (const auto c : step.constants)
      if (weights_.insert(c).second)
        made_.weight_bytes += problem_.constants[c].bytes;
    for (const auto v : std::set<std::uint32_t>{step.inputs.begin(), step.inputs.end()}) {
      if (buffer_of_[v] != memory_graph::none)
        made.reads.push_back(buffer_of_[v]);
      else if (maker_[v] != plan_problem::none)
        made.after = before(step);
    }
    for (const auto v : step.outputs)
      if (problem_.values[v].bytes > 0) {
        buffer_of_[v] =
            add_buffer(problem_.values[v].name, problem_.values[v].bytes, is_result_here(problem_.values[v]));
        made.makes.push_back(buffer_of_[v]);
      }
    if (step.scratch_bytes > 0)
      made.makes.push_back(add_buffer("scratch space of '" + step.name + "'", step.scratch_bytes, false));
    permit_in_place(s, made);
  }

  [[nodiscard]] bool is_result_here(const placement_problem::flowing_value& v) const {
    return v.result_on == device_;
  }

  void permit_in_place(std::uint32_t s, memory_graph::step& made) const {
    const auto& planned = plan_.steps[described_.plan_step_of[s]];
    const auto& n = plan_.source->at(planned.node);
    if (!planned.kernel)
      return;
    for (const auto& pair : planned.kernel->traits().in_place) {
      if (pair.input >= n.inputs.size() || n.inputs[pair.input] == no_edge || pair.output >= n.outputs.size())
        continue;
      const auto from = described_.value_of[n.inputs[pair.input]];
      const auto to = described_.value_of[n.outputs[pair.output]];
      if (from == plan_problem::none || buffer_of_[from] == memory_graph::none ||
          buffer_of_[to] == memory_graph::none)
        continue;
      const auto& inputs = problem_.steps[s].inputs;
      const auto& a = planned.input_types[pair.input];
      const auto& b = planned.output_types[pair.output];
      if (std::count(inputs.begin(), inputs.end(), from) == 1 && a.concrete() && a.element() == b.element() &&
          a.shape() == b.shape())
        made.in_place.push_back({buffer_of_[to], buffer_of_[from]});
    }
  }

  [[nodiscard]] double transfer_ns(std::uint32_t v, bool arriving) const {
    for (const auto& t : made_by_.schedule.transfers)
      if (t.value == v && (arriving ? problem_.links[t.link].to : problem_.links[t.link].from) == device_)
        return t.finish_ns - t.start_ns;
    return 0;
  }

  void arrive(std::uint32_t v, std::vector<index> after) {
    const auto at = add_step({placed_memory::step::kind::arrival, v}, transfer_ns(v, true));
    made_.graph.steps[at].after = std::move(after);
    if (problem_.values[v].bytes == 0)
      return;
    buffer_of_[v] =
        add_buffer(problem_.values[v].name, problem_.values[v].bytes, is_result_here(problem_.values[v]));
    made_.graph.steps[at].makes = {buffer_of_[v]};
  }

  void depart(std::uint32_t v) {
    const auto at = add_step({placed_memory::step::kind::departure, v}, transfer_ns(v, false));
    made_.graph.steps[at].reads = {buffer_of_[v]};
  }

  const plan& plan_;
  const plan_problem& described_;
  const placement_problem& problem_;
  const placement& made_by_;
  const std::uint32_t device_;
  std::vector<index> buffer_of_; // by value
  std::vector<bool> departs_;    // by value
  std::vector<bool> arrives_;
  std::vector<std::vector<index>> nearest_; // by step of the problem: what of this device it waits for last
  std::vector<std::uint32_t> maker_;        // by value: step of the problem; none: fed
  std::set<std::uint32_t> weights_;
  placed_memory made_;
};

} // namespace

placed_memory memory_on(const plan& p, const placed_plan& placed, std::uint32_t device) {
  return describer{p, placed, device}.describe();
}

} // namespace sluice
