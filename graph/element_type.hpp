#pragma once

#include <sluice/graph/error.hpp>
#include <sluice/graph/export.hpp>
#include <sluice/graph/small_float.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace sluice {

/// The type of a tensor's elements; the numbers are ONNX's `TensorProto.DataType`.
enum class element_type : std::uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
};

inline constexpr int element_type_count = 17;

/// Short name: "float32", "int64", "string", …
[[nodiscard]] SLUICE_API std::string_view to_string(element_type t) noexcept;

/// Bytes of one element in memory (of the `std::string` object for strings); 0 for undefined.
[[nodiscard]] SLUICE_API std::size_t size_of(element_type t) noexcept;

/// Calls `f(std::type_identity<T>{})` with the C++ type of `t`. Throws errc::invalid_argument for undefined.
template <class F>
decltype(auto) visit_element_type(element_type t, F&& f) {
  using std::type_identity;
  switch (t) {
  case element_type::float32:
    return f(type_identity<float>{});
  case element_type::uint8:
    return f(type_identity<std::uint8_t>{});
  case element_type::int8:
    return f(type_identity<std::int8_t>{});
  case element_type::uint16:
    return f(type_identity<std::uint16_t>{});
  case element_type::int16:
    return f(type_identity<std::int16_t>{});
  case element_type::int32:
    return f(type_identity<std::int32_t>{});
  case element_type::int64:
    return f(type_identity<std::int64_t>{});
  case element_type::string:
    return f(type_identity<std::string>{});
  case element_type::boolean:
    return f(type_identity<bool>{});
  case element_type::float16:
    return f(type_identity<float16>{});
  case element_type::float64:
    return f(type_identity<double>{});
  case element_type::uint32:
    return f(type_identity<std::uint32_t>{});
  case element_type::uint64:
    return f(type_identity<std::uint64_t>{});
  case element_type::complex64:
    return f(type_identity<std::complex<float>>{});
  case element_type::complex128:
    return f(type_identity<std::complex<double>>{});
  case element_type::bfloat16:
    return f(type_identity<bfloat16>{});
  case element_type::undefined:
    break;
  }
  throw error{errc::invalid_argument, "a tensor without an element type"};
}

namespace detail {
template <class T>
struct element_type_of;
template <>
struct element_type_of<float> {
  static constexpr auto value = element_type::float32;
};
template <>
struct element_type_of<std::uint8_t> {
  static constexpr auto value = element_type::uint8;
};
template <>
struct element_type_of<std::int8_t> {
  static constexpr auto value = element_type::int8;
};
template <>
struct element_type_of<std::uint16_t> {
  static constexpr auto value = element_type::uint16;
};
template <>
struct element_type_of<std::int16_t> {
  static constexpr auto value = element_type::int16;
};
template <>
struct element_type_of<std::int32_t> {
  static constexpr auto value = element_type::int32;
};
template <>
struct element_type_of<std::int64_t> {
  static constexpr auto value = element_type::int64;
};
template <>
struct element_type_of<std::string> {
  static constexpr auto value = element_type::string;
};
template <>
struct element_type_of<bool> {
  static constexpr auto value = element_type::boolean;
};
template <>
struct element_type_of<float16> {
  static constexpr auto value = element_type::float16;
};
template <>
struct element_type_of<double> {
  static constexpr auto value = element_type::float64;
};
template <>
struct element_type_of<std::uint32_t> {
  static constexpr auto value = element_type::uint32;
};
template <>
struct element_type_of<std::uint64_t> {
  static constexpr auto value = element_type::uint64;
};
template <>
struct element_type_of<std::complex<float>> {
  static constexpr auto value = element_type::complex64;
};
template <>
struct element_type_of<std::complex<double>> {
  static constexpr auto value = element_type::complex128;
};
template <>
struct element_type_of<bfloat16> {
  static constexpr auto value = element_type::bfloat16;
};
} // namespace detail

/// The element type that stores `T`.
template <class T>
inline constexpr element_type element_type_of = detail::element_type_of<T>::value;

/// A C++ type that a tensor can hold.
template <class T>
concept Element = requires {
  detail::element_type_of<T>::value;
};

} // namespace sluice
