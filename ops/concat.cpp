#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>

namespace sluice::ops {

namespace {

// Concat

std::vector<value_type> infer_concat(const op_view& op) {
  const auto axis_given = op.attributes().get<std::int64_t>("axis", 1);
  auto element = element_type::undefined;
  partial_shape joined;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (!op.has_input(i) || !op.input(i).is_tensor())
      return {{element, {}}};
    if (element != element_type::undefined && op.element(i) != element_type::undefined &&
        op.element(i) != element)
      throw error{errc::invalid_graph, "tensors of different types cannot be joined"};
    element = element == element_type::undefined ? op.element(i) : element;
  }
  dim sum = 0;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    const auto& s = op.shape(i);
    if (!s.has_rank()) {
      sum = {};
      continue;
    }
    const auto axis = normalize_axis(axis_given, s.rank());
    if (op.input_count() == 1)
      sum = s[axis];
    else if (!sum.known() || !s[axis].known())
      sum = {};
    else
      sum = sum.extent() + s[axis].extent();
    auto rest = s;
    rest[axis] = {};
    auto merged = joined.merged(rest);
    if (!merged)
      throw error{errc::invalid_graph, "shapes that differ in more than axis " + std::to_string(axis)};
    joined = std::move(*merged);
  }
  if (joined.has_rank())
    joined[normalize_axis(axis_given, joined.rank())] = sum;
  return {{element, std::move(joined)}};
}

kernel_entry concat_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([axis_given = r.op.attributes().get<std::int64_t>("axis", 1)](kernel_context& ctx) {
      const auto& first = ctx.input(0);
      const auto axis = axis_of(axis_given, first.shape().rank());
      std::int64_t extent = 0;
      for (std::size_t i = 0; i < ctx.input_count(); ++i) {
        const auto& in = ctx.input(i);
        if (in.type() != first.type() || in.shape().rank() != first.shape().rank() ||
            in.shape().with(axis, 0) != first.shape().with(axis, 0))
          throw error{errc::kernel_failed, describe(ctx.input_value(0)) + " and " +
                                               describe(ctx.input_value(i)) +
                                               " cannot be joined along axis " + std::to_string(axis)};
        extent += in.shape()[axis];
      }
      const auto s = first.shape().with(axis, extent);
      const auto outer = s.product(0, axis);
      const auto inner = s.product(axis + 1, s.rank());
      auto& out = ctx.output(0, first.type(), s);
      std::int64_t before = 0;
      for (std::size_t i = 0; i < ctx.input_count(); ++i) {
        const auto& in = ctx.input(i);
        const auto run = in.shape()[axis] * inner;
        strided_copy copy;
        copy.axis(outer, run, extent * inner);
        copy.axis(run, 1, 1);
        copy.run(ctx, in.type(), in.raw(), element_at(in.type(), out.raw(), before));
        before += run;
      }
    });
  }};
}

// Split

/// The extents of the parts: as given, or `count` equal ones of which the last may be smaller. Throws unless
/// they add up to `extent`.
std::vector<std::int64_t> part_extents(const std::vector<std::int64_t>& given, std::size_t count,
                                       std::int64_t extent) {
  auto parts = given;
  if (parts.empty()) {
    const auto n = static_cast<std::int64_t>(std::max<std::size_t>(1, count));
    const auto part = (extent + n - 1) / n;
    for (std::int64_t i = 0; i < n; ++i)
      parts.push_back(std::clamp<std::int64_t>(extent - i * part, 0, part));
  }
  auto left = extent;
  for (const auto part : parts) {
    if (part < 0 || part > left)
      left = -1;
    if (left >= 0)
      left -= part;
  }
  if (left != 0 || parts.size() != count)
    throw error{errc::kernel_failed, std::to_string(parts.size()) + " parts do not make up an extent of " +
                                         std::to_string(extent) + " in " + std::to_string(count) +
                                         " outputs"};
  return parts;
}

std::vector<value_type> infer_split(const op_view& op) {
  const auto& s = op.shape(0);
  if (!s.has_rank())
    return std::vector<value_type>(op.output_count(), value_type{op.element(0), {}});
  const auto axis = normalize_axis(op.attributes().get<std::int64_t>("axis", 0), s.rank());
  const auto given = integers(op, 1, "split");
  std::vector<value_type> outputs;
  auto part = s;
  part[axis] = {};
  outputs.assign(op.output_count(), value_type{op.element(0), part});
  if ((!given && op.has_input(1)) || (!given && !s[axis].known()))
    return outputs;
  const auto parts = s[axis].known() ? part_extents(given.value_or(std::vector<std::int64_t>{}),
                                                    op.output_count(), s[axis].extent())
                                     : *given;
  for (std::size_t i = 0; i < outputs.size() && i < parts.size(); ++i) {
    part[axis] = parts[i];
    outputs[i] = value_type{op.element(0), part};
  }
  return outputs;
}

kernel_entry split_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel(
        [axis_given = r.op.attributes().get<std::int64_t>("axis", 0),
         given = r.op.attributes().get<std::vector<std::int64_t>>("split", {})](kernel_context& ctx) {
          const auto& in = ctx.input(0);
          const auto& s = in.shape();
          const auto axis = axis_of(axis_given, s.rank());
          const auto parts = part_extents(integers_of(ctx, 1, given), ctx.output_count(), s[axis]);
          const auto outer = s.product(0, axis);
          const auto inner = s.product(axis + 1, s.rank());
          std::int64_t before = 0;
          for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto run = parts[i] * inner;
            auto& out = ctx.output(i, in.type(), s.with(axis, parts[i]));
            strided_copy copy;
            copy.axis(outer, s[axis] * inner, run);
            copy.axis(run, 1, 1);
            copy.run(ctx, in.type(), element_at(in.type(), in.raw(), before), out.raw());
            before += run;
          }
        });
  }};
}

} // namespace

void register_concat(operator_library& lib) {
  lib.add({.name = "Concat",
           .max_inputs = op_schema::variadic,
           .infer = infer_concat,
           .cost = elementwise_cost()},
          concat_kernel());
  // The parts are an attribute and, in 1 and from 13 on, an input.
  for (const auto version : {1, 2, 13, 18})
    lib.add({.name = "Split",
             .since_opset = version,
             .max_inputs = version == 2 ? 1U : 2U,
             .max_outputs = op_schema::variadic,
             .infer = infer_split,
             .cost = elementwise_cost()},
            split_kernel());
}

} // namespace sluice::ops
