#pragma once

#include <sluice/ops/elementwise.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

namespace sluice::ops {

/// A floating-point number as an integer: cut towards zero, then wrapped into `To`. What 64 bits cannot hold,
/// and NaN, becomes what the lowest 64-bit integer wraps to.
template <class To, class From>
To to_integer(From x) noexcept {
  if (x >= From(-0x1p63) && x < From(0x1p63))
    return static_cast<To>(static_cast<std::int64_t>(x));
  if (x >= From(0x1p63) && x < From(0x1p64))
    return static_cast<To>(static_cast<std::uint64_t>(x));
  return static_cast<To>(INT64_MIN);
}

/// A number or bool as another type, as ONNX's Cast says.
template <class To, class From>
To convert(From x) noexcept {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (is_small_float<From>)
    return convert<To>(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bool>)
    return x != From{0};
  else if constexpr (is_small_float<To>)
    return To{static_cast<float>(x)};
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
    return to_integer<To>(x);
  else
    return static_cast<To>(x);
}

/// Converts `n` elements of type `from` to type `to`: numbers, bools and strings. Throws errc::unsupported
/// for complex numbers and errc::kernel_failed, quoting it, for a string that is no number.
void convert_elements(const void* x, element_type from, void* y, element_type to, std::size_t n);

} // namespace sluice::ops
