#include <sluice/ops/inference.hpp>
#include <sluice/ops/matmul_batch.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/quantized.hpp>

namespace sluice::ops {

namespace {

/// The sums of a product of bytes: (a - a zero) * (b - b zero). Zero points are one for all, one a row of a,
/// one a column of b.
scratch_array<std::uint32_t> multiply_bytes(const kernel_context& ctx, const matmul_extents& e,
                                            const tensor& a, const std::vector<std::int32_t>& a_zero,
                                            const tensor& b, const std::vector<std::int32_t>& b_zero) {
  const auto rows = e.k == 0 ? 0 : static_cast<std::size_t>(a.elements()) / e.k;
  if (a_zero.size() > 1 && (rows == 0 || rows % a_zero.size() != 0))
    throw error{errc::kernel_failed,
                std::to_string(a_zero.size()) + " zero points for " + std::to_string(rows) + " rows"};
  if (b_zero.size() > 1 && b_zero.size() != e.n)
    throw error{errc::kernel_failed,
                std::to_string(b_zero.size()) + " zero points for " + std::to_string(e.n) + " columns"};
  scratch_array<std::uint32_t> left{ctx, static_cast<std::size_t>(a.elements())};
  scratch_array<std::uint32_t> right{ctx, static_cast<std::size_t>(b.elements())};
  scratch_array<std::uint32_t> y{ctx, static_cast<std::size_t>(e.result.elements())};
  subtract_zero(a, a_zero, e.k, left.data());
  subtract_zero(b, b_zero, 1, right.data());
  if (e.result.elements() > 0)
    multiply_plain<std::uint32_t>(ctx, e, left.data(), right.data(), y.data());
  return y;
}

op_cost quantized_cost(const op_view& op, std::span<const value_type> outputs) {
  auto cost = elementwise_cost()(op, outputs);
  const auto& a = op.shape(0);
  cost.flops = a.rank() == 0 ? 0 : 2 * elements(outputs[0]) * static_cast<double>(a[a.rank() - 1].extent());
  return cost;
}

std::vector<value_type> infer_product(const op_view& op, std::size_t b, element_type y) {
  require_element(op, 0, {element_type::int8, element_type::uint8});
  require_element(op, b, {element_type::int8, element_type::uint8});
  return {value_type{y, matmul_shape(op.shape(0), op.shape(b))}};
}

std::unique_ptr<prepared_kernel> prepare_integer(const kernel_request&) {
  return make_kernel([](kernel_context& ctx) {
    const matmul_extents e{ctx.input(0).shape(), ctx.input(1).shape()};
    const auto sums =
        multiply_bytes(ctx, e, ctx.input(0), zero_points(ctx, 2), ctx.input(1), zero_points(ctx, 3));
    const auto to = ctx.output(0, element_type::int32, e.result).data<std::int32_t>();
    std::copy_n(reinterpret_cast<const std::int32_t*>(sums.data()), to.size(), to.data());
  });
}

enum : std::size_t { a_in, a_scale_in, a_zero_in, b_in, b_scale_in, b_zero_in, y_scale_in, y_zero_in };

/// One factor for all, one a column, or one an element of a matrix.
std::vector<float> product_scales(const matmul_extents& e, std::span<const float> a, std::span<const float> b,
                                  float y) {
  if (a.empty() || b.empty() || (a.size() > 1 && a.size() != e.m) || (b.size() > 1 && b.size() != e.n))
    throw error{errc::kernel_failed, std::to_string(a.size()) + " and " + std::to_string(b.size()) +
                                         " scales for " + std::to_string(e.m) + " rows and " +
                                         std::to_string(e.n) + " columns"};
  std::vector<float> scales;
  for (std::size_t row = 0; row < a.size(); ++row)
    for (std::size_t column = 0; column < (a.size() > 1 ? e.n : b.size()); ++column)
      scales.push_back(a[row] * b[b.size() > 1 ? column : 0] / y);
  return scales;
}

std::unique_ptr<prepared_kernel> prepare_linear(const kernel_request&) {
  return make_kernel([](kernel_context& ctx) {
    const matmul_extents e{ctx.input(a_in).shape(), ctx.input(b_in).shape()};
    const auto scales =
        product_scales(e, ctx.input(a_scale_in).data<float>(), ctx.input(b_scale_in).data<float>(),
                       ctx.input_value(y_scale_in).scalar<float>());
    const auto y_zero = zero_points(ctx, y_zero_in);
    if (y_zero.size() != 1)
      throw error{errc::kernel_failed, "the output has " + std::to_string(y_zero.size()) + " zero points"};
    const auto sums = multiply_bytes(ctx, e, ctx.input(a_in), zero_points(ctx, a_zero_in), ctx.input(b_in),
                                     zero_points(ctx, b_zero_in));
    requantize(ctx, ctx.input(y_zero_in).type(), e.result, sums.data(), scales, 1, y_zero[0]);
  });
}

} // namespace

void register_matmul_quantized(operator_library& lib) {
  lib.add({.name = "MatMulInteger",
           .since_opset = 10,
           .min_inputs = 2,
           .max_inputs = 4,
           .infer = [](const op_view& op) { return infer_product(op, 1, element_type::int32); },
           .cost = quantized_cost},
          {prepare_integer});
  lib.add({.name = "QLinearMatMul",
           .since_opset = 10,
           .min_inputs = 8,
           .max_inputs = 8,
           .infer = [](const op_view& op) { return infer_product(op, b_in, op.element(y_zero_in)); },
           .cost = quantized_cost},
          {prepare_linear});
}

} // namespace sluice::ops
