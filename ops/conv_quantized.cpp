#include <sluice/ops/conv_gemm.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/quantized.hpp>

namespace sluice::ops {

namespace {

void expect_count(std::size_t n, std::size_t channels, const char* what) {
  if (n > 1 && n != channels)
    throw error{errc::kernel_failed,
                std::to_string(n) + " " + what + " for " + std::to_string(channels) + " channels"};
}

/// The sums of a convolution of bytes: (x - x zero) * (w - w zero) + bias, all plain.
scratch_array<std::uint32_t> convolve_bytes(const kernel_context& ctx, const convolution& c, const tensor& x,
                                            const std::vector<std::int32_t>& x_zero, const tensor& w,
                                            const std::vector<std::int32_t>& w_zero,
                                            const std::uint32_t* bias) {
  const auto channels = c.groups * c.out;
  expect_count(x_zero.size(), 1, "zero points");
  expect_count(w_zero.size(), channels, "zero points");
  const auto extent = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  scratch_array<std::uint32_t> image{ctx, extent(x.elements())};
  scratch_array<std::uint32_t> weights{ctx, extent(w.elements())};
  scratch_array<std::uint32_t> y{ctx, extent(conv_output(c).elements())};
  subtract_zero(x, x_zero, 1, image.data());
  subtract_zero(w, w_zero, c.in * extent(c.over.kernel_elements()), weights.data());
  convolve(ctx, c, image.data(), weights.data(), bias, y.data());
  return y;
}

std::vector<value_type> infer_with(const op_view& op, std::size_t w, element_type y) {
  require_element(op, 0, {element_type::int8, element_type::uint8});
  require_element(op, w, {element_type::int8, element_type::uint8});
  const auto types = conv_node(op, w);
  return {value_type{y, types ? types->y : partial_shape{}}};
}

op_cost quantized_cost(const op_view& op, std::span<const value_type> outputs, std::size_t w) {
  auto cost = elementwise_cost()(op, outputs);
  const auto& weights = op.input(w);
  cost.flops = 2 * elements(outputs[0]) * elements(weights) /
               std::max(1.0, static_cast<double>(weights.shape()[0].extent()));
  return cost;
}

std::unique_ptr<prepared_kernel> prepare_integer(const kernel_request& r) {
  return make_kernel([c = conv_extents(r.op, 1)](kernel_context& ctx) {
    const auto y =
        convolve_bytes(ctx, c, ctx.input(0), zero_points(ctx, 2), ctx.input(1), zero_points(ctx, 3), nullptr);
    const auto to = ctx.output(0, element_type::int32, conv_output(c)).data<std::int32_t>();
    std::copy_n(reinterpret_cast<const std::int32_t*>(y.data()), to.size(), to.data());
  });
}

enum : std::size_t {
  x_in,
  x_scale_in,
  x_zero_in,
  w_in,
  w_scale_in,
  w_zero_in,
  y_scale_in,
  y_zero_in,
  bias_in
};

std::unique_ptr<prepared_kernel> prepare_linear(const kernel_request& r) {
  return make_kernel([c = conv_extents(r.op, w_in)](kernel_context& ctx) {
    const auto x_scale = ctx.input_value(x_scale_in).scalar<float>();
    const auto y_scale = ctx.input_value(y_scale_in).scalar<float>();
    const auto y_zero = zero_points(ctx, y_zero_in);
    if (y_zero.size() != 1)
      throw error{errc::kernel_failed, "the output has " + std::to_string(y_zero.size()) + " zero points"};
    const auto channels = c.groups * c.out;
    std::vector<float> scales;
    for (const auto w_scale : ctx.input(w_scale_in).data<float>())
      scales.push_back(x_scale * w_scale / y_scale);
    if (scales.empty())
      throw error{errc::kernel_failed, "the weights have no scale"};
    expect_count(scales.size(), channels, "scales");
    const std::uint32_t* bias = nullptr;
    if (ctx.has_input(bias_in)) {
      const auto given = ctx.input(bias_in).data<std::int32_t>();
      if (given.size() != channels)
        throw error{errc::kernel_failed, "a bias of " + std::to_string(given.size()) + " for " +
                                             std::to_string(channels) + " channels"};
      bias = reinterpret_cast<const std::uint32_t*>(given.data());
    }
    const auto sums = convolve_bytes(ctx, c, ctx.input(x_in), zero_points(ctx, x_zero_in), ctx.input(w_in),
                                     zero_points(ctx, w_zero_in), bias);
    requantize(ctx, ctx.input(y_zero_in).type(), conv_output(c), sums.data(), scales,
               static_cast<std::size_t>(c.over.out_elements()), y_zero[0]);
  });
}

} // namespace

void register_conv_quantized(operator_library& lib) {
  lib.add({.name = "ConvInteger",
           .since_opset = 10,
           .min_inputs = 2,
           .max_inputs = 4,
           .infer = [](const op_view& op) { return infer_with(op, 1, element_type::int32); },
           .cost = [](const op_view& op, auto outputs) { return quantized_cost(op, outputs, 1); }},
          {prepare_integer, false});
  lib.add({.name = "QLinearConv",
           .since_opset = 10,
           .min_inputs = 8,
           .max_inputs = 9,
           .infer = [](const op_view& op) { return infer_with(op, w_in, op.element(y_zero_in)); },
           .cost = [](const op_view& op, auto outputs) { return quantized_cost(op, outputs, w_in); }},
          {prepare_linear, false});
}

} // namespace sluice::ops
