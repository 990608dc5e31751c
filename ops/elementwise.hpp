#pragma once

#include <sluice/devices/kernel.hpp>
#include <sluice/graph/attributes.hpp>
#include <sluice/graph/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

/// What the element-wise families share.
namespace sluice::ops {

/// How many elements a thread takes at once: enough work to be worth handing over.
inline constexpr std::size_t elements_per_chunk = 16'384;

template <class... Types>
struct type_list {};

using float_types = type_list<float, double, float16, bfloat16>;
using signed_types = type_list<std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
using integer_types = type_list<std::int32_t, std::int64_t, std::uint8_t, std::int8_t, std::uint16_t,
                                std::int16_t, std::uint32_t, std::uint64_t>;
using unsigned_types = type_list<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;

template <class... A, class... B>
auto operator+(type_list<A...>, type_list<B...>) -> type_list<A..., B...>;
using numeric_types = decltype(float_types{} + integer_types{});
using most_types = decltype(numeric_types{} + type_list<bool>{}); // all but strings and complex numbers

[[noreturn]] void refuse_element(element_type t);

[[nodiscard]] bool is_floating(element_type t) noexcept;

/// The element type whose number attribute `name` states; `otherwise` if it states none. Throws
/// errc::unsupported for a number that is no type.
[[nodiscard]] element_type stated_element(const attribute_map& attributes, std::string_view name,
                                          element_type otherwise);

/// Calls `f(std::type_identity<T>{})` for the type of the list that is `t`; throws errc::unsupported if it is
/// not in the list. `f` returns the same type for all.
template <class First, class... Rest, class F>
auto visit_among(type_list<First, Rest...>, element_type t, F&& f) {
  if (t == element_type_of<First>)
    return f(std::type_identity<First>{});
  if constexpr (sizeof...(Rest) > 0)
    return visit_among(type_list<Rest...>{}, t, std::forward<F>(f));
  else
    refuse_element(t);
}

template <class T>
inline constexpr bool is_small_float = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// The type that elements of T are computed in: float for the small floats, T for all others.
template <class T>
using computed = std::conditional_t<is_small_float<T>, float, T>;

/// A signed or unsigned integer's bits as the widest unsigned type, in which arithmetic wraps.
template <class T>
constexpr std::uint64_t wide(T x) noexcept {
  return static_cast<std::uint64_t>(x);
}

/// Kernels that read and write the same place: the output may stand in the bytes of input 0.
inline kernel_traits in_place_of_first() {
  return {.in_place = {{0, 0}}};
}

} // namespace sluice::ops
