#include <tools/feeds/fit_value.hpp>

#include <sluice/graph/tensor.hpp>

#include <cmath>
#include <complex>
#include <limits>
#include <sstream>
#include <utility>

namespace sluice::tools {

namespace {

template <class T>
constexpr bool is_number = std::is_arithmetic_v<T>;
template <class T>
constexpr bool is_small_float = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// True if the integer type To has `x`.
template <class To, class From>
bool holds(From x) {
  if constexpr (std::is_same_v<To, bool>)
    return x == From{0} || x == From{1};
  else if constexpr (std::is_same_v<From, bool>)
    return true;
  else if constexpr (std::is_integral_v<From>)
    return std::in_range<To>(x);
  else // bounds that are powers of two, which floating point holds exactly
    return x == std::trunc(x) && x >= static_cast<From>(std::numeric_limits<To>::min()) &&
           x < static_cast<From>(std::ldexp(1.0, std::numeric_limits<To>::digits));
}

template <class To, class From>
To converted(From x, element_type to) {
  if constexpr (std::is_integral_v<To>) {
    if (!holds<To>(x)) {
      std::ostringstream shown;
      shown << +x;
      throw error{errc::invalid_argument,
                  shown.str() + " is not a number of type " + std::string{to_string(to)}};
    }
    return static_cast<To>(x);
  } else if constexpr (is_small_float<To>) {
    return To{static_cast<float>(x)};
  } else {
    return static_cast<To>(x);
  }
}

value with_elements(const value& v, element_type to) {
  const auto& from = v.tensor();
  auto result = tensor::make(to, from.shape());
  visit_element_type(from.type(), [&]<class From>(std::type_identity<From>) {
    visit_element_type(to, [&]<class To>(std::type_identity<To>) {
      if constexpr (is_number<From> && (is_number<To> || is_small_float<To>)) {
        const std::span<const From> in = from.data<From>();
        const std::span<To> out = result->template data<To>();
        for (std::size_t i = 0; i < in.size(); ++i)
          out[i] = converted<To>(in[i], to);
      }
    });
  });
  return result;
}

bool convertible(element_type from, element_type to) {
  const auto number = [](element_type t) {
    return t != element_type::undefined && t != element_type::string && t != element_type::complex64 &&
           t != element_type::complex128;
  };
  return number(from) && from != element_type::float16 && from != element_type::bfloat16 && number(to);
}

/// The shape of as many elements that `wanted` admits, if there is exactly one such.
std::optional<shape> fitting_shape(const shape& s, const partial_shape& wanted) {
  if (!wanted.has_rank() || wanted.rank() > shape::max_rank || wanted.admits(s))
    return {};
  std::vector<std::int64_t> dims;
  std::optional<std::size_t> open;
  std::int64_t product = 1;
  std::size_t unknown = 0;
  for (std::size_t axis = 0; axis < wanted.rank(); ++axis)
    unknown += !wanted[axis].known();
  for (std::size_t axis = 0; axis < wanted.rank(); ++axis) {
    const auto& d = wanted[axis];
    // Of several unknown extents all but the last are those of a single item.
    if (!d.known() && --unknown == 0)
      open = axis;
    dims.push_back(d.known() ? d.extent() : 1);
    product *= dims.back();
    if (product < 0 || product > s.elements())
      return {};
  }
  if (open && product > 0 && s.elements() % product == 0) {
    dims[*open] = s.elements() / product;
    product = s.elements();
  }
  if (product != s.elements())
    return {};
  return shape{dims};
}

} // namespace

partial_shape bound(const partial_shape& s, const dim_values& dims) {
  if (!s.has_rank())
    return s;
  auto result = s.dims();
  for (auto& d : result)
    if (const auto found = dims.find(d.symbol()); !d.known() && found != dims.end())
      d = dim{found->second};
  return partial_shape{std::move(result)};
}

std::optional<shape> default_shape(const partial_shape& s, const dim_values& dims) {
  if (!s.has_rank())
    return {};
  const auto known = bound(s, dims);
  std::vector<std::int64_t> extents;
  for (const auto& d : known.dims())
    extents.push_back(d.known() ? d.extent() : 1);
  return shape{extents};
}

value fitted(const value& v, const value_type& wanted) {
  if (!v.is(value_kind::tensor) || !wanted.is_tensor())
    return v;
  auto result = v;
  const auto from = v.tensor().type();
  if (wanted.element() != from && wanted.element() != element_type::undefined &&
      convertible(from, wanted.element()))
    result = with_elements(v, wanted.element());
  if (const auto s = fitting_shape(v.tensor().shape(), wanted.shape()))
    result = tensor::reshaped(result, *s);
  return result;
}

} // namespace sluice::tools
