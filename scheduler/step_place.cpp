#include <sluice/scheduler/step_place.hpp>

#include <sluice/scheduler/control_flow.hpp>
#include <sluice/scheduler/plan.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice {

namespace {

bool fixed_tensor(const value_type& t) {
  return t.is_tensor() && t.concrete() && t.element() != element_type::string;
}

/// Why an accelerator does not execute the step; empty if it does.
std::string_view unfit_for_accelerator(const plan_step& step, const graph::node& n) {
  if (n.function)
    return "it is a C++ function";
  const auto left_out = [&](std::size_t port) { return n.inputs[port] == no_edge; };
  for (std::size_t port = 0; port < step.input_types.size(); ++port)
    if (!left_out(port) && !fixed_tensor(step.input_types[port]))
      return "it takes more than tensors of numbers whose shapes are known in advance";
  if (!std::all_of(step.output_types.begin(), step.output_types.end(), fixed_tensor))
    return "its outputs are more than tensors of numbers whose shapes are known in advance";
  return step.kernel ? std::string_view{} : "its kernel is prepared only for what arrives";
}

std::string_view unfit(const plan_step& step, const graph::node& n, bool accelerator) {
  if (is_control_flow(n))
    return "control flow runs on the host";
  if (accelerator)
    return unfit_for_accelerator(step, n);
  if (n.function && n.function->kind != function_kind::pure)
    return "functions with state, and those that may block, run on the host";
  return {};
}

} // namespace

bool is_view(const graph::node& n, std::size_t port) noexcept {
  constexpr std::array<std::string_view, 6> views{"Reshape",   "Flatten",  "Squeeze",
                                                  "Unsqueeze", "Identity", "Dropout"};
  return n.schema && n.domain.empty() && port == 0 && n.inputs.size() > 0 &&
         std::find(views.begin(), views.end(), n.op) != views.end();
}

void place_step(plan_step& step, const graph::node& n, const node_places& places) {
  const auto device = places.device[step.node];
  step.why = places.why[step.node];
  if (device == 0)
    return;
  const auto& d = places.devices[device];
  if (const auto why_not = unfit(step, n, d.own_memory); !why_not.empty()) {
    if (places.strict)
      throw error{errc::unsupported, "node " + title(n) + " cannot run on " + d.name + " (" + step.why +
                                         "): " + std::string{why_not}};
    step.why += ", but " + std::string{why_not};
    return;
  }
  step.device = device;
  if (!d.own_memory)
    return;
  step.view =
      n.outputs.size() == 1 && is_view(n, 0) && n.inputs[0] != no_edge &&
      std::none_of(step.constants.begin(), step.constants.end(), [](const auto& c) { return c.port == 0; });
  if (step.view)
    return;
  for (auto& c : step.constants)
    c.constant = places.bring(c.constant, device);
}

} // namespace sluice
