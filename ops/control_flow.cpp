#include <sluice/ops/operators.hpp>

#include <sluice/graph/graph.hpp>

#include <algorithm>

namespace sluice::ops {

namespace {

using body = std::shared_ptr<const graph>;

std::vector<value_type> body_outputs(const graph& g, std::span<const value_type> inputs) {
  const auto types = infer_types(g, inputs);
  std::vector<value_type> outputs;
  for (const auto e : g.outputs())
    outputs.push_back(types[e]);
  return outputs;
}

/// The same for a branch of If. One that is meant for other shapes, and is never taken with these, must not
/// keep the other from running: of it only what it declares is known.
std::vector<value_type> branch_outputs(const graph& g, std::span<const value_type> inputs) {
  try {
    return body_outputs(g, inputs);
  } catch (const error&) {
    std::vector<value_type> outputs;
    for (const auto e : g.outputs())
      outputs.push_back(g.at_edge(e).type);
    return outputs;
  }
}

value_type type_of(const op_view& op, std::size_t i) {
  return op.has_input(i) ? op.input(i) : value_type{};
}

/// What two branches have in common: extents that differ are unknown.
value_type common(const value_type& a, const value_type& b) {
  if (!a.known() || !b.known() || a.kind() != b.kind())
    return {};
  if (!a.is_tensor())
    return a.merged(b).value_or(value_type{});
  const auto element = a.element() == b.element() ? a.element() : element_type::undefined;
  if (!a.shape().has_rank() || !b.shape().has_rank() || a.shape().rank() != b.shape().rank())
    return {element, partial_shape{}};
  std::vector<dim> dims;
  for (std::size_t i = 0; i < a.shape().rank(); ++i)
    dims.push_back(a.shape()[i] == b.shape()[i] ? a.shape()[i] : dim{});
  return {element, partial_shape{std::move(dims)}};
}

/// A value that changes from one iteration to the next: only what cannot change is known.
value_type carried(const value_type& t) {
  if (t.is_tensor())
    return {t.element(), partial_shape{}};
  return t;
}

value_type stacked(const value_type& slice, std::size_t axis, dim length) {
  if (!slice.is_tensor())
    return {};
  if (!slice.shape().has_rank() || axis > slice.shape().rank())
    return {slice.element(), partial_shape{}};
  auto dims = slice.shape().dims();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), std::move(length));
  return {slice.element(), partial_shape{std::move(dims)}};
}

std::vector<value_type> infer_if(const op_view& op) {
  std::vector<value_type> captures;
  for (std::size_t i = 1; i < op.input_count(); ++i)
    captures.push_back(type_of(op, i));
  const auto then_types = branch_outputs(*op.attributes().get<body>("then_branch"), captures);
  const auto else_types = branch_outputs(*op.attributes().get<body>("else_branch"), captures);
  if (then_types.size() != else_types.size())
    throw error{errc::invalid_graph, "the branches have different numbers of outputs"};
  std::vector<value_type> outputs;
  for (std::size_t i = 0; i < then_types.size(); ++i)
    outputs.push_back(common(then_types[i], else_types[i]));
  return outputs;
}

std::vector<value_type> infer_loop(const op_view& op) {
  const auto& g = *op.attributes().get<body>("body");
  const auto own = op.input_count() - op.captures();
  const auto states = own > 2 ? own - 2 : 0;
  std::vector<value_type> inputs{{element_type::int64, shape{}}, {element_type::boolean, shape{}}};
  for (std::size_t i = 0; i < states; ++i)
    inputs.push_back(carried(type_of(op, 2 + i)));
  for (std::size_t i = own; i < op.input_count(); ++i)
    inputs.push_back(type_of(op, i));
  const auto types = body_outputs(g, inputs);
  if (types.size() < 1 + states || g.inputs().size() != inputs.size())
    throw error{errc::invalid_graph, "the body's inputs and outputs do not fit the loop's"};
  std::vector<value_type> outputs;
  for (std::size_t i = 0; i < states; ++i)
    outputs.push_back(common(type_of(op, 2 + i), types[1 + i]));
  for (std::size_t i = 1 + states; i < types.size(); ++i)
    outputs.push_back(stacked(types[i], 0, {}));
  return outputs;
}

std::vector<value_type> infer_scan(const op_view& op) {
  const auto& g = *op.attributes().get<body>("body");
  const auto scanned = op.attributes().get<std::int64_t>("num_scan_inputs");
  const auto own = static_cast<std::int64_t>(op.input_count() - op.captures()) - (op.opset() < 9 ? 1 : 0);
  if (scanned < 1 || scanned > own)
    throw error{errc::invalid_graph, "num_scan_inputs does not fit the number of inputs"};
  const auto states = static_cast<std::size_t>(own - scanned);
  const auto types = body_outputs(g, {});
  if (types.size() < states)
    throw error{errc::invalid_graph, "the body's outputs do not fit the scan's"};
  std::vector<value_type> outputs;
  for (const auto& t : types)
    outputs.push_back(carried(t));
  return outputs;
}

std::unique_ptr<prepared_kernel> runs_its_bodies(const kernel_request&) {
  // The runtime drives control flow through scheduler/control_flow.hpp; no kernel is ever executed.
  return make_kernel([](kernel_context&) {});
}

} // namespace

void register_control_flow(operator_library& lib) {
  constexpr auto any = op_schema::variadic;
  const kernel_entry kernel{.prepare = runs_its_bodies};
  lib.add({.name = "If", .max_outputs = any, .infer = infer_if, .bodies = {"then_branch", "else_branch"}},
          kernel);
  lib.add({.name = "Loop",
           .min_inputs = 1,
           .max_inputs = any,
           .max_outputs = any,
           .infer = infer_loop,
           .bodies = {"body"}},
          kernel);
  lib.add({.name = "Scan",
           .since_opset = 8,
           .min_inputs = 1,
           .max_inputs = any,
           .max_outputs = any,
           .infer = infer_scan,
           .bodies = {"body"}},
          kernel);
}

} // namespace sluice::ops
