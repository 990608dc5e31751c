#include <sluice/scheduler/plan_placement.hpp>

#include <sluice/devices/device_name.hpp>
#include <sluice/graph/tensor_block.hpp>
#include <sluice/scheduler/control_flow.hpp>
#include <sluice/scheduler/step_place.hpp>

#include <algorithm>
#include <map>

namespace sluice {

namespace {

/// Memory of one machine is not copied: far faster than any link.
constexpr double no_limit_bytes_per_ns = 1e6;

bool is_number_tensor(const value_type& t) {
  return t.concrete() && t.element() != element_type::string;
}

class describer {
public:
  describer(const plan& p, std::span<const described_device> devices, const placing& by)
    : plan_(p), source_(*p.source), devices_(devices), costs_(by.costs ? *by.costs : formulas_) {
    if (by.rules)
      said_ = by.rules->apply(source_);
  }

  plan_problem describe() {
    made_.value_of.assign(source_.edges().size(), plan_problem::none);
    add_devices();
    for (const auto& f : plan_.fed)
      if (const auto e = f.edge; f.known.empty())
        new_value(e, source_.at_edge(e).type.merged(f.type).value_or(f.type)).fed_on = made_.host;
    for (const auto& s : plan_.steps)
      add(s);
    for (const auto e : plan_.fetch)
      if (made_.value_of[e] != plan_problem::none)
        problem().values[made_.value_of[e]].result_on = made_.host;
    return std::move(made_);
  }

private:
  placement_problem& problem() { return made_.problem; }

  void add_devices() {
    const auto host = std::find_if(devices_.begin(), devices_.end(),
                                   [](const described_device& d) { return d.name == "cpu:0"; });
    if (host == devices_.end())
      throw error{errc::invalid_argument, "placement: 'cpu:0', the host, is not among the devices"};
    made_.host = static_cast<std::uint32_t>(host - devices_.begin());
    for (const auto& d : devices_) {
      problem().devices.push_back(
          {.name = d.name, .lanes = d.lanes, .budget = d.budget, .keeps_values = d.keeps_values});
      is_cpu_.push_back(device_name::parse(d.name).kind == "cpu");
    }
    for (std::uint32_t from = 0; from < devices_.size(); ++from)
      for (std::uint32_t to = 0; to < devices_.size(); ++to)
        if (from != to)
          problem().links.push_back(link(from, to));
  }

  /// A transfer holds the links of both devices. A link carries one transfer at a time each way, whatever the
  /// number of copy engines.
  [[nodiscard]] placement_problem::link link(std::uint32_t from, std::uint32_t to) const {
    placement_problem::link made{from, to, no_limit_bytes_per_ns, 0, 1};
    for (const auto d : {from, to}) {
      if (devices_[d].bandwidth > 0 && !is_cpu_[d])
        made.bytes_per_ns = std::min(made.bytes_per_ns, devices_[d].bandwidth / 1e9);
      made.latency_ns = std::max(made.latency_ns, static_cast<double>(devices_[d].latency.count()));
    }
    return made;
  }

  placement_problem::flowing_value& new_value(edge_index e, const value_type& type) {
    made_.value_of[e] = static_cast<std::uint32_t>(problem().values.size());
    const auto bytes = type.bytes();
    problem().values.push_back({.name = source_.at_edge(e).name,
                                .bytes = bytes ? tensor_block_bytes(*bytes) : 0,
                                .fed_on = {},
                                .result_on = {}});
    return problem().values.back();
  }

  [[nodiscard]] std::string scope_of(node_index n) const {
    return said_.devices.empty() || said_.devices[n].empty() ? source_.at(n).device : said_.devices[n];
  }
  [[nodiscard]] std::string colocation_of(node_index n) const {
    return said_.colocations.empty() ? std::string{} : said_.colocations[n];
  }

  /// A view without a place of its own, and without other outputs, which take bytes though nobody reads them.
  [[nodiscard]] bool is_free_view(const plan_step& s) const {
    const auto& n = source_.at(s.node);
    return n.outputs.size() == 1 && is_view(n, 0) && n.inputs[0] != no_edge &&
           made_.value_of[n.inputs[0]] != plan_problem::none && scope_of(s.node).empty() &&
           colocation_of(s.node).empty() && why_cpu_only(s, n).empty();
  }

  [[nodiscard]] static std::string why_cpu_only(const plan_step& s, const graph::node& n) {
    if (n.function)
      return "it is a C++ function";
    if (is_control_flow(n))
      return "it is control flow";
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] != no_edge && s.input_types[i].known() && !s.input_types[i].is_tensor())
        return "it takes values that are no tensors";
    for (const auto& t : s.output_types)
      if (t.known() && !t.is_tensor())
        return "it makes values that are no tensors";
    const auto strings = [](const value_type& t) { return t.element() == element_type::string; };
    if (std::any_of(s.input_types.begin(), s.input_types.end(), strings) ||
        std::any_of(s.output_types.begin(), s.output_types.end(), strings))
      return "it works on strings";
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] != no_edge && !is_number_tensor(s.input_types[i]))
        return "its shapes depend on data";
    if (!s.kernel || !std::all_of(s.output_types.begin(), s.output_types.end(), is_number_tensor))
      return "its shapes depend on data";
    return {};
  }

  void add(const plan_step& s) {
    const auto& n = source_.at(s.node);
    if (is_free_view(s)) {
      made_.value_of[n.outputs[0]] = made_.value_of[n.inputs[0]];
      made_.step_of.push_back(plan_problem::none);
      return;
    }
    made_.cpu_only.push_back(why_cpu_only(s, n));
    const auto cost = costs_.of(plan_, s);
    made_.cost_from.push_back(cost.from);
    placement_problem::step step{.name = n.name,
                                 .time_ns = {},
                                 .scratch_bytes = s.kernel ? s.kernel->traits().scratch_bytes : 0,
                                 .scope = scope_of(s.node),
                                 .colocation = colocation_of(s.node)};
    for (std::uint32_t d = 0; d < devices_.size(); ++d)
      step.time_ns.push_back(can_execute(d, n) ? cost.ns / devices_[d].rate : placement_problem::no_kernel);
    for (const auto& c : s.constants)
      if (const auto constant = constant_of(n, c))
        step.constants.push_back(*constant);
    for (std::size_t port = 0; port < n.inputs.size(); ++port)
      if (const auto e = n.inputs[port]; e != no_edge && !is_bound(s, port))
        step.inputs.push_back(made_.value_of[e]);
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      new_value(n.outputs[i], s.output_types[i]);
      step.outputs.push_back(made_.value_of[n.outputs[i]]);
    }
    made_.step_of.push_back(static_cast<std::uint32_t>(problem().steps.size()));
    made_.plan_step_of.push_back(static_cast<std::uint32_t>(made_.step_of.size() - 1));
    problem().steps.push_back(std::move(step));
  }

  [[nodiscard]] bool can_execute(std::uint32_t d, const graph::node& n) const {
    if (d == made_.host)
      return true;
    if (devices_[d].has_kernel && !devices_[d].has_kernel(n))
      return false;
    return is_cpu_[d] ? !is_control_flow(n) && !(n.function && n.function->kind == function_kind::stateful)
                      : made_.cpu_only.back().empty();
  }

  [[nodiscard]] static bool is_bound(const plan_step& s, std::size_t port) {
    return std::any_of(s.constants.begin(), s.constants.end(),
                       [port](const auto& c) { return c.port == port; });
  }

  /// Nodes that read the same tensor share it.
  std::optional<std::uint32_t> constant_of(const graph::node& n, const plan_step::bound_constant& c) {
    if (!c.constant.is(value_kind::tensor))
      return std::nullopt;
    const auto [found, is_new] =
        constants_.try_emplace(c.constant.body(), static_cast<std::uint32_t>(problem().constants.size()));
    if (is_new)
      problem().constants.push_back(
          {source_.at_edge(n.inputs[c.port]).name, tensor_block_bytes(c.constant.tensor().bytes())});
    return found->second;
  }

  const plan& plan_;
  const graph& source_;
  const std::span<const described_device> devices_;
  const cost_model formulas_;
  const cost_model& costs_;
  placement_file::outcome said_;
  std::vector<bool> is_cpu_;
  std::map<const void*, std::uint32_t> constants_; // by the tensor's address
  plan_problem made_;
};

/// The devices of all nodes from those of the problem's steps.
std::vector<std::uint32_t> devices_by_node(const plan& p, const plan_problem& described,
                                           std::span<const std::uint32_t> places) {
  std::vector<std::uint32_t> device_of(p.source->nodes().size(), described.host);
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    const auto n = p.steps[s].node;
    if (described.step_of[s] != plan_problem::none)
      device_of[n] = places[described.step_of[s]];
    else if (const auto shown = p.source->at_edge(p.source->at(n).inputs[0]).producer;
             shown != no_node && p.step_of[shown] != plan::no_step)
      device_of[n] = device_of[shown];
  }
  return device_of;
}

} // namespace

plan_problem describe(const plan& p, std::span<const described_device> devices, const placing& by) {
  if (!p.devices.empty())
    throw error{errc::invalid_argument, "placement: the plan has places already"};
  return describer{p, devices, by}.describe();
}

placed_plan place_plan(const plan& p, std::span<const described_device> devices, const placing& by) {
  placed_plan placed{.described = describe(p, devices, by), .made = {}, .device_of = {}};
  const auto strict = by.strict || (by.rules && by.rules->strict().value_or(false));
  auto answer = place(placed.described.problem, {.strict = strict, .effort = by.effort});
  if (const auto* lack = std::get_if<placement_shortage>(&answer))
    throw error{errc::out_of_memory, lack->message(placed.described.problem)};
  placed.made = std::get<made_placement>(std::move(answer));
  placed.device_of = devices_by_node(p, placed.described, placed.made.places);
  return placed;
}

std::string placed_plan::explain(const plan& p, node_index n) const {
  const auto& node = p.source->at(n);
  const auto s = p.step_of[n];
  if (s == plan::no_step)
    return node.name + ": not executed; its outputs are not needed, or known when the plan is made";
  const auto step = described.step_of[s];
  if (step == plan_problem::none)
    return node.name + ": " + described.problem.devices[device_of[n]].name + ", a view of '" +
           p.source->at_edge(node.inputs[0]).name + "', which is there";
  auto text = sluice::explain(described.problem, made, step);
  if (!described.cpu_only[step].empty())
    text += "; " + described.cpu_only[step];
  return text;
}

} // namespace sluice
