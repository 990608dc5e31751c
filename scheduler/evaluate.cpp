#include <sluice/scheduler/evaluate.hpp>

#include <sluice/devices/kernel_context.hpp>

#include <sluice/scheduler/control_flow.hpp>

#include <string_view>

namespace sluice {

namespace {

std::unique_ptr<prepared_kernel> prepare(const operator_library& operators, const graph::node& n,
                                         const op_view& op, std::span<const value_type> outputs) {
  const auto* kernel = operators.kernel("cpu", *n.schema);
  if (!kernel)
    throw error{errc::unsupported, "node " + title(n) + " has no kernel for the CPU"};
  return kernel->prepare(kernel_request{.node = n.name, .op = op, .outputs = outputs});
}

std::vector<value> run_bodies(const operator_library& operators, const graph::node& n,
                              std::span<const value> inputs, memory& from) {
  const auto machine = make_control_flow(n, inputs, from);
  auto next = machine->begin();
  while (next.what == control_flow::action::kind::run_body) {
    const auto& body = *n.attributes.get<std::shared_ptr<const graph>>(n.schema->bodies[next.body]);
    next = machine->body_done(evaluate(operators, body, next.values, from));
  }
  return std::move(next.values);
}

std::vector<value> call(const graph::node& n, std::vector<value> inputs) {
  std::vector<value> outputs(n.outputs.size());
  n.function->call(inputs, outputs);
  return outputs;
}

} // namespace

std::vector<value> evaluate(const operator_library& operators, const graph::node& n,
                            std::span<const value> inputs, memory& from) try {
  std::vector<value> given{inputs.begin(), inputs.end()};
  if (n.function)
    return call(n, std::move(given));
  if (is_control_flow(n))
    return run_bodies(operators, n, given, from);
  std::vector<value_type> types;
  for (const auto& input : given)
    types.push_back(value_type::of(input));
  std::vector<const value_type*> present;
  for (std::size_t i = 0; i < given.size(); ++i)
    present.push_back(given[i].empty() ? nullptr : &types[i]);
  const auto output_types = infer_outputs(n, present, given);
  const op_view op{n.attributes, n.opset, present, given, n.outputs.size(), n.captures};
  const auto kernel = prepare(operators, n, op, output_types);
  const intrusive_ptr<tensor> scratch =
      tensor::make(element_type::uint8, {static_cast<std::int64_t>(kernel->traits().scratch_bytes)}, from);
  std::vector<value> outputs(n.outputs.size());
  kernel_context ctx{{.inputs = given,
                      .outputs = outputs,
                      .output_types = output_types,
                      .allocate_from = from,
                      .scratch = static_cast<std::byte*>(scratch->raw())}};
  if (kernel->execute(ctx) != completion::done)
    throw error{errc::unsupported, "the kernel must wait"};
  return outputs;
} catch (const error& e) {
  const auto name = title(n);
  if (std::string_view{e.what()}.find(name) != std::string_view::npos)
    throw;
  throw error{e.code(), "node " + name + ": " + e.what()};
}

std::vector<value> evaluate(const operator_library& operators, const graph& g, std::span<const value> inputs,
                            memory& from) {
  std::vector<value> values;
  for (const auto& e : g.edges())
    values.push_back(e.constant);
  for (std::size_t i = 0; i < g.inputs().size(); ++i)
    values[g.inputs()[i]] = inputs[i];
  for (const auto& n : g.nodes()) {
    std::vector<value> given;
    for (const auto e : n.inputs)
      given.push_back(e == no_edge ? value{} : values[e]);
    auto made = evaluate(operators, n, given, from);
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      values[n.outputs[i]] = std::move(made[i]);
  }
  std::vector<value> outputs;
  for (const auto e : g.outputs())
    outputs.push_back(values[e]);
  return outputs;
}

} // namespace sluice
