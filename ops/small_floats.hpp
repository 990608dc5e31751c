#pragma once

#include <sluice/graph/small_float.hpp>
#include <sluice/ops/vector_math.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

/// Arrays of float16 and bfloat16, computed in float by way of a small buffer.
namespace sluice::ops {

inline constexpr std::size_t float_buffer = 512;

template <class Small>
[[nodiscard]] const small_float_loops& codec() noexcept {
  static const auto& picked = std::is_same_v<Small, float16> ? float16_loops() : bfloat16_loops();
  return picked;
}

template <class Small>
void to_floats(const Small* x, float* y, std::size_t n) noexcept {
  static_assert(sizeof(Small) == sizeof(std::uint16_t));
  codec<Small>().decode(reinterpret_cast<const std::uint16_t*>(x), y, n);
}

template <class Small>
void from_floats(const float* x, Small* y, std::size_t n) noexcept {
  codec<Small>().encode(x, reinterpret_cast<std::uint16_t*>(y), n);
}

/// y = what `change(buffer, n)` makes of x, piece by piece.
template <class Small, class Change>
void through_floats(const Small* x, Small* y, std::size_t n, Change&& change) {
  std::array<float, float_buffer> buffer;
  for (std::size_t i = 0; i < n; i += float_buffer) {
    const auto piece = std::min(float_buffer, n - i);
    to_floats(x + i, buffer.data(), piece);
    change(buffer.data(), piece);
    from_floats(buffer.data(), y + i, piece);
  }
}

} // namespace sluice::ops
