#pragma once

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/operand.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

/// Numbers of 8 bits with a zero point (and a scale), as quantised models have them.
namespace sluice::ops {

/// Calls `f(std::type_identity<T>{})` for int8 and uint8. Throws errc::unsupported.
template <class F>
auto visit_byte_type(element_type t, F&& f) {
  if (t == element_type::int8)
    return f(std::type_identity<std::int8_t>{});
  if (t == element_type::uint8)
    return f(std::type_identity<std::uint8_t>{});
  throw error{errc::unsupported,
              "quantised numbers of type " + std::string{to_string(t)} + " are not supported"};
}

/// The elements of a tensor of bytes.
[[nodiscard]] inline std::vector<std::int32_t> byte_elements(const tensor& t) {
  return visit_byte_type(t.type(), [&]<class T>(std::type_identity<T>) {
    const auto elements = t.data<T>();
    return std::vector<std::int32_t>(elements.begin(), elements.end());
  });
}

/// to[i] = x[i] - its zero point, with wrap-around arithmetic in view. `zero` holds one number for all, or
/// one for each of `groups` groups of neighbouring elements, which recur after the last.
inline void subtract_zero(const tensor& x, const std::vector<std::int32_t>& zero, std::size_t group,
                          std::uint32_t* to) {
  visit_byte_type(x.type(), [&]<class T>(std::type_identity<T>) {
    const auto elements = x.data<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto z = zero.empty() ? 0 : zero.size() == 1 ? zero[0] : zero[i / group % zero.size()];
      to[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(elements[i]) - z);
    }
  });
}

/// The nearest number of T to x / scale + zero, halves to even, clamped.
template <class T>
[[nodiscard]] T quantized(double x, std::int32_t zero) {
  const auto rounded = std::nearbyint(x) + static_cast<double>(zero);
  if (!(rounded >= static_cast<double>(std::numeric_limits<T>::min())))
    return std::numeric_limits<T>::min();
  if (rounded > static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(rounded);
}

/// Writes output 0 of type `t` and shape `s`: sums scaled by `scales` (one, or one a group of neighbours,
/// which recur), plus the zero point.
inline void requantize(kernel_context& ctx, element_type t, const shape& s, const std::uint32_t* sums,
                       const std::vector<float>& scales, std::size_t group, std::int32_t zero) {
  visit_byte_type(t, [&]<class T>(std::type_identity<T>) {
    const auto to = ctx.output(0, t, s).data<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      const auto scale = scales.size() == 1 ? scales[0] : scales[i / group % scales.size()];
      // In floats, as ONNX Runtime does it: halves then fall on the same side.
      to[i] = quantized<T>(
          static_cast<double>(static_cast<float>(static_cast<std::int32_t>(sums[i])) * scale), zero);
    }
  });
}

/// Input `i` as one number or one a row or column; empty if it is left out.
[[nodiscard]] inline std::vector<std::int32_t> zero_points(const kernel_context& ctx, std::size_t i) {
  return ctx.has_input(i) ? byte_elements(ctx.input(i)) : std::vector<std::int32_t>{};
}

} // namespace sluice::ops
