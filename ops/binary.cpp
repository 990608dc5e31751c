#include <sluice/ops/binary.hpp>

#include <sluice/ops/broadcast.hpp>
#include <sluice/ops/inference.hpp>

#include <optional>

namespace sluice::ops {

namespace {

const std::byte* element(const void* x, std::size_t i, std::size_t bytes) {
  return static_cast<const std::byte*>(x) + i * bytes;
}

/// Both arrays of one shape, or one of them a single element.
void run_flat(kernel_context& ctx, tensor& y, const tensor& a, const tensor& b, const binary_loop& loop,
              operands arrays) {
  ctx.parallel_for(
      static_cast<std::size_t>(y.elements()), elements_per_chunk, [&](std::size_t begin, std::size_t end) {
        loop.run(element(a.raw(), arrays == operands::right ? 0 : begin, loop.left_bytes),
                 element(b.raw(), arrays == operands::left ? 0 : begin, loop.right_bytes),
                 static_cast<std::byte*>(y.raw()) + begin * loop.result_bytes, end - begin, arrays);
      });
}

void run_planned(kernel_context& ctx, tensor& y, const tensor& a, const tensor& b, const binary_loop& loop,
                 const broadcast_plan& plan) {
  const auto arrays = plan.advances(0) == plan.advances(1) ? operands::both
                      : plan.advances(0)                   ? operands::left
                                                           : operands::right;
  for_each_run(ctx, plan, [&](const broadcast_plan::offsets& from, std::size_t first, std::size_t n) {
    loop.run(element(a.raw(), from[0], loop.left_bytes), element(b.raw(), from[1], loop.right_bytes),
             static_cast<std::byte*>(y.raw()) + first * loop.result_bytes, n, arrays);
  });
}

/// Which arrays advance where no plan is needed: both have one shape, or one is a single element.
std::optional<operands> flat(const shape& a, const shape& b, bool legacy) {
  if (a == b)
    return operands::both;
  if (b.elements() == 1 && b.rank() <= a.rank())
    return operands::left;
  if (a.elements() == 1 && a.rank() <= b.rank() && !legacy)
    return operands::right;
  return std::nullopt;
}

broadcast_plan plan_for(const shape& a, const shape& b, alignment how) {
  broadcast_plan plan{a, how.legacy ? aligned(a, b, how.axis) : b};
  if (how.legacy && plan.output() != a)
    throw error{errc::kernel_failed, "shape " + to_string(b) + " does not broadcast to " + to_string(a)};
  return plan;
}

} // namespace

alignment alignment_of(const op_view& op) {
  if (op.opset() >= 7)
    return {};
  return {.legacy = true, .axis = op.attributes().get<std::int64_t>("axis", -1)};
}

void run_into(kernel_context& ctx, tensor& y, const tensor& a, const tensor& b, const binary_loop& loop,
              alignment how) {
  if (const auto arrays = flat(a.shape(), b.shape(), how.legacy))
    run_flat(ctx, y, a, b, loop, *arrays);
  else
    run_planned(ctx, y, a, b, loop, plan_for(a.shape(), b.shape(), how));
}

void run_binary(kernel_context& ctx, const tensor& a, const tensor& b, const binary_loop& loop,
                alignment how) {
  if (const auto arrays = flat(a.shape(), b.shape(), how.legacy)) {
    run_flat(ctx, ctx.output(0, *arrays == operands::right ? b.shape() : a.shape()), a, b, loop, *arrays);
  } else {
    const auto plan = plan_for(a.shape(), b.shape(), how);
    run_planned(ctx, ctx.output(0, plan.output()), a, b, loop, plan);
  }
}

std::unique_ptr<prepared_kernel> binary_kernel(const kernel_request& r, const binary_loop& loop) {
  return make_kernel([loop, how = alignment_of(r.op)](
                         kernel_context& ctx) { run_binary(ctx, ctx.input(0), ctx.input(1), loop, how); },
                     {.in_place = {{0, 0}, {0, 1}}});
}

std::vector<value_type> infer_binary(const op_view& op, element_type element) {
  const auto type = element == element_type::undefined ? op.element(0) : element;
  if (alignment_of(op).legacy)
    return {value_type{type, op.shape(0)}};
  return {value_type{type, broadcast(op.shape(0), op.shape(1))}};
}

op_schema binary_schema(std::string name, int since, double operations) {
  return {.name = std::move(name),
          .since_opset = since,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer =
              [](const op_view& op) {
                if (op.element(0) != op.element(1) && op.element(0) != element_type::undefined &&
                    op.element(1) != element_type::undefined)
                  throw error{errc::invalid_graph, "its inputs are of types " +
                                                       std::string{to_string(op.element(0))} + " and " +
                                                       std::string{to_string(op.element(1))}};
                return infer_binary(op);
              },
          .cost = elementwise_cost(operations)};
}

op_schema comparison_schema(std::string name, int since) {
  auto schema = binary_schema(std::move(name), since);
  schema.infer = [same = std::move(schema.infer)](const op_view& op) {
    return std::vector<value_type>{value_type{element_type::boolean, same(op)[0].shape()}};
  };
  return schema;
}

} // namespace sluice::ops
