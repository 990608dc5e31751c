#include <sluice/ops/operators.hpp>

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/convert.hpp>
#include <sluice/ops/inference.hpp>

#include <cmath>
#include <limits>

namespace sluice::ops {

namespace {

using quantized_types = type_list<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t>;
using dequantized_types = type_list<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::int32_t>;

/// Which scale belongs to which element: one for all, one for each index of an axis, or one for each block of
/// indices of an axis.
struct granularity {
  std::size_t outer = 1; ///< elements are [outer, axis, inner]
  std::size_t axis = 1;
  std::size_t inner = 1;
  std::size_t block = 0; ///< indices that share a scale; 0: scales do not depend on outer and inner

  [[nodiscard]] std::size_t scale_of(std::size_t o, std::size_t a, std::size_t i) const noexcept {
    return block == 0 ? a : (o * ((axis + block - 1) / block) + a / block) * inner + i;
  }
};

granularity granularity_of(const shape& x, const shape& scale, std::int64_t axis, std::int64_t block) {
  const auto mismatch = [&] {
    throw error{errc::kernel_failed, "scales of shape " + to_string(scale) + " do not fit " + to_string(x)};
  };
  if (scale.elements() == 1 && scale.rank() <= 1 && block == 0)
    return {.outer = 1, .axis = 1, .inner = static_cast<std::size_t>(x.elements())};
  if (axis < -static_cast<std::int64_t>(x.rank()) || axis >= static_cast<std::int64_t>(x.rank()))
    throw error{errc::kernel_failed, "axis " + std::to_string(axis) + " is not in " + to_string(x)};
  const auto a = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.rank()) : axis);
  if (block == 0 ? scale.rank() != 1 || scale[0] != x[a]
                 : block < 0 || scale != x.with(a, x[a] / block + (x[a] % block != 0)))
    mismatch();
  return {.outer = static_cast<std::size_t>(x.product(0, a)),
          .axis = static_cast<std::size_t>(x[a]),
          .inner = static_cast<std::size_t>(x.product(a + 1, x.rank())),
          .block = static_cast<std::size_t>(block)};
}

/// Calls `body(element, scale, n)` for runs of elements: element `element + k` has scale `scale + k * step`.
template <class Body>
void for_each_run(kernel_context& ctx, const granularity& g, Body&& body) {
  const std::size_t step = g.block == 0 ? 0 : 1;
  if (g.outer * g.axis == 1)
    return ctx.parallel_for(g.inner, elements_per_chunk, [&](std::size_t begin, std::size_t end) {
      body(begin, begin * step, end - begin, step);
    });
  const auto rows = elements_per_chunk / std::max<std::size_t>(g.inner, 1) + 1;
  ctx.parallel_for(g.outer * g.axis, rows, [&](std::size_t begin, std::size_t end) {
    for (auto row = begin; row < end; ++row)
      body(row * g.inner, g.scale_of(row / g.axis, row % g.axis, 0), g.inner, step);
  });
}

struct quantizing {
  std::int64_t axis;
  std::int64_t block;
};

void check_zero_point(const kernel_context& ctx) {
  if (ctx.has_input(2) && ctx.input(2).elements() != ctx.input(1).elements())
    throw error{errc::kernel_failed, describe(ctx.input_value(1)) + " scales and " +
                                         describe(ctx.input_value(2)) + " zero points"};
}

/// round(x / scale) + zero point, halves to even, saturated.
template <class X, class Y>
void quantize(kernel_context& ctx, quantizing how) {
  check_zero_point(ctx);
  using S = std::conditional_t<std::is_same_v<X, std::int32_t>, float, X>;
  const auto g = granularity_of(ctx.input(0).shape(), ctx.input(1).shape(), how.axis, how.block);
  const auto* x = ctx.input(0).data<X>().data();
  const auto* scale = ctx.input(1).template data<S>().data();
  const auto* zero = ctx.has_input(2) ? ctx.input(2).template data<Y>().data() : nullptr;
  auto* y = ctx.output(0, element_type_of<Y>, ctx.input(0).shape()).template data<Y>().data();
  for_each_run(ctx, g, [&](std::size_t element, std::size_t first, std::size_t n, std::size_t step) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto s = first + i * step;
      const auto steps = std::nearbyint(convert<float>(x[element + i]) / convert<float>(scale[s]));
      const auto q = steps + (zero ? convert<float>(zero[s]) : 0.0f);
      using limits = std::numeric_limits<Y>;
      const auto clipped = std::min(std::max(q, float{limits::min()}), float{limits::max()});
      y[element + i] = static_cast<Y>(std::isnan(clipped) ? 0.0f : clipped);
    }
  });
}

/// (x - zero point) * scale.
template <class X, class Y>
void dequantize(kernel_context& ctx, quantizing how) {
  check_zero_point(ctx);
  const auto g = granularity_of(ctx.input(0).shape(), ctx.input(1).shape(), how.axis, how.block);
  const auto* x = ctx.input(0).data<X>().data();
  const auto* scale = ctx.input(1).template data<Y>().data();
  const auto* zero = ctx.has_input(2) ? ctx.input(2).template data<X>().data() : nullptr;
  auto* y = ctx.output(0, element_type_of<Y>, ctx.input(0).shape()).template data<Y>().data();
  for_each_run(ctx, g, [&](std::size_t element, std::size_t first, std::size_t n, std::size_t step) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto s = first + i * step;
      const auto steps = std::int64_t{x[element + i]} - (zero ? std::int64_t{zero[s]} : 0);
      y[element + i] = convert<Y>(static_cast<float>(steps) * convert<float>(scale[s]));
    }
  });
}

quantizing read(const op_view& op) {
  return {op.attributes().get<std::int64_t>("axis", 1), op.attributes().get<std::int64_t>("block_size", 0)};
}

element_type quantized_type(const op_view& op) {
  if (op.has_input(2))
    return op.element(2);
  return stated_element(op.attributes(), "output_dtype", element_type::uint8);
}

/// The smallest scale and zero point that cover the input and 0 with 256 steps.
void quantize_dynamically(kernel_context& ctx) {
  const auto x = ctx.input(0).data<float>();
  float low = 0;
  float high = 0;
  for (const auto element : x) {
    low = std::min(low, element);
    high = std::max(high, element);
  }
  const auto scale = (high - low) / 255.0f;
  const auto zero = scale > 0 ? std::nearbyint(std::min(255.0f, std::max(0.0f, -low / scale))) : 0.0f;
  const auto y = ctx.output(0, element_type::uint8, ctx.input(0).shape()).data<std::uint8_t>();
  ctx.output(1, element_type::float32, shape{}).data<float>()[0] = scale;
  ctx.output(2, element_type::uint8, shape{}).data<std::uint8_t>()[0] = static_cast<std::uint8_t>(zero);
  ctx.parallel_for(x.size(), elements_per_chunk, [&](std::size_t begin, std::size_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto steps = scale > 0 ? std::nearbyint(x[i] / scale) : 0.0f;
      const auto q = std::min(255.0f, std::max(0.0f, steps + zero));
      y[i] = static_cast<std::uint8_t>(std::isnan(q) ? 0.0f : q);
    }
  });
}

void register_quantize_linear(operator_library& lib, int since) {
  lib.add({.name = "QuantizeLinear",
           .since_opset = since,
           .min_inputs = 2,
           .max_inputs = 3,
           .infer =
               [](const op_view& op) {
                 return std::vector<value_type>{value_type{quantized_type(op), op.shape(0)}};
               },
           .cost = elementwise_cost(6)},
          {.prepare = [](const kernel_request& r) {
            using types = type_list<float, std::int32_t, float16, bfloat16>;
            return visit_among(types{}, r.op.element(0), [&]<class X>(std::type_identity<X>) {
              return visit_among(
                  quantized_types{}, quantized_type(r.op), [&]<class Y>(std::type_identity<Y>) {
                    return make_kernel([how = read(r.op)](kernel_context& ctx) { quantize<X, Y>(ctx, how); });
                  });
            });
          }});
}

void register_dequantize_linear(operator_library& lib, int since) {
  lib.add({.name = "DequantizeLinear",
           .since_opset = since,
           .min_inputs = 2,
           .max_inputs = 3,
           .infer =
               [](const op_view& op) {
                 return std::vector<value_type>{value_type{op.element(1), op.shape(0)}};
               },
           .cost = elementwise_cost(2)},
          {.prepare = [](const kernel_request& r) {
            using types = type_list<float, float16, bfloat16>;
            return visit_among(dequantized_types{}, r.op.element(0), [&]<class X>(std::type_identity<X>) {
              return visit_among(types{}, r.op.element(1), [&]<class Y>(std::type_identity<Y>) {
                return make_kernel([how = read(r.op)](kernel_context& ctx) { dequantize<X, Y>(ctx, how); });
              });
            });
          }});
}

} // namespace

void register_quantize(operator_library& lib) {
  for (const int since : {10, 21}) { // since 21 by blocks, too
    register_quantize_linear(lib, since);
    register_dequantize_linear(lib, since);
  }
  lib.add({.name = "DynamicQuantizeLinear",
           .since_opset = 11,
           .min_outputs = 3,
           .max_outputs = 3,
           .infer =
               [](const op_view& op) {
                 require_element(op, 0, {element_type::float32});
                 return std::vector<value_type>{value_type{element_type::uint8, op.shape(0)},
                                                value_type{element_type::float32, shape{}},
                                                value_type{element_type::uint8, shape{}}};
               },
           .cost = elementwise_cost(8)},
          {.prepare = [](const kernel_request&) { return make_kernel(quantize_dynamically); }});
}

} // namespace sluice::ops
