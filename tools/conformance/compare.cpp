#include <tools/conformance/compare.hpp>

#include <sluice/graph/collections.hpp>
#include <sluice/graph/tensor.hpp>

#include <cmath>
#include <complex>
#include <sstream>

namespace sluice::tools {

namespace {

using verdict = std::optional<std::string>;

template <class T>
constexpr bool is_complex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class T>
bool close(const T& actual, const T& expected, const tolerance& allowed) {
  if constexpr (is_complex<T>) {
    // As numpy: the distance in the plane; special values part by part.
    if (std::isfinite(std::abs(actual)) && std::isfinite(std::abs(expected)))
      return std::abs(actual - expected) <= allowed.absolute + allowed.relative * std::abs(expected);
    return close(actual.real(), expected.real(), allowed) && close(actual.imag(), expected.imag(), allowed);
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return close(static_cast<float>(actual), static_cast<float>(expected), allowed);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(actual) || std::isnan(expected))
      return std::isnan(actual) && std::isnan(expected);
    if (std::isinf(actual) || std::isinf(expected))
      return actual == expected;
    const auto a = static_cast<double>(actual);
    const auto e = static_cast<double>(expected);
    return std::abs(a - e) <= allowed.absolute + allowed.relative * std::abs(e);
  } else {
    return actual == expected;
  }
}

template <class T>
std::string shown(const T& x) {
  if constexpr (std::is_same_v<T, std::string>) {
    return '"' + x.substr(0, 40) + '"';
  } else if constexpr (std::is_same_v<T, bool>) {
    return x ? "true" : "false";
  } else {
    std::ostringstream s;
    s.precision(9);
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
      s << static_cast<float>(x);
    else if constexpr (std::is_integral_v<T>)
      s << +x;
    else
      s << x;
    return s.str();
  }
}

std::string place(std::int64_t flat, const shape& s) {
  std::string text;
  for (auto axis = s.rank(); axis-- > 0;) {
    text = std::to_string(flat % s[axis]) + (text.empty() ? "" : ", ") + text;
    flat /= s[axis];
  }
  return "element [" + text + "]";
}

verdict compare_elements(const tensor& actual, const tensor& expected, const tolerance& allowed) {
  return visit_element_type(expected.type(), [&]<class T>(std::type_identity<T>) -> verdict {
    const std::span<const T> a = actual.data<T>();
    const std::span<const T> e = expected.data<T>();
    std::size_t different = 0, first = 0;
    for (std::size_t i = 0; i < e.size(); ++i)
      if (!close(a[i], e[i], allowed) && different++ == 0)
        first = i;
    if (different == 0)
      return {};
    return place(static_cast<std::int64_t>(first), expected.shape()) + " is " + shown(a[first]) +
           ", expected " + shown(e[first]) + " (" + std::to_string(different) + " of " +
           std::to_string(e.size()) + " differ)";
  });
}

/// `allowed` is null where only types count.
verdict compare(const value& actual, const value& expected, const tolerance* allowed);

verdict compare_items(const sequence& actual, const sequence& expected, const tolerance* allowed) {
  if (actual.items.size() != expected.items.size())
    return "a sequence of " + std::to_string(actual.items.size()) + ", expected one of " +
           std::to_string(expected.items.size());
  for (std::size_t i = 0; i < expected.items.size(); ++i)
    if (auto d = compare(actual.items[i], expected.items[i], allowed))
      return "item " + std::to_string(i) + ": " + *d;
  return {};
}

std::string shown_key(const dictionary::key& k) {
  return std::visit([](const auto& x) { return shown(x); }, k);
}

verdict compare_entries(const dictionary& actual, const dictionary& expected, const tolerance* allowed) {
  for (const auto& [key, entry] : expected.entries) {
    const auto found = actual.entries.find(key);
    if (found == actual.entries.end())
      return "the key " + shown_key(key) + " is missing";
    if (auto d = compare(found->second, entry, allowed))
      return "key " + shown_key(key) + ": " + *d;
  }
  if (actual.entries.size() != expected.entries.size())
    return std::to_string(actual.entries.size()) + " keys, expected " +
           std::to_string(expected.entries.size());
  return {};
}

verdict compare(const value& actual, const value& expected, const tolerance* allowed) {
  if (actual.empty() && expected.empty())
    return {};
  if (actual.empty() || expected.empty() || actual.kind() != expected.kind())
    return describe(actual) + ", expected " + describe(expected);
  switch (expected.kind()) {
  case value_kind::tensor: {
    const auto& a = actual.tensor();
    const auto& e = expected.tensor();
    if (a.type() != e.type() || !(a.shape() == e.shape()))
      return describe(actual) + ", expected " + describe(expected);
    return allowed ? compare_elements(a, e, *allowed) : verdict{};
  }
  case value_kind::sequence:
    return compare_items(actual.sequence(), expected.sequence(), allowed);
  case value_kind::map:
    return compare_entries(actual.map(), expected.map(), allowed);
  case value_kind::optional:
    return compare(actual.optional().content, expected.optional().content, allowed);
  case value_kind::object:
    break;
  }
  return "C++ objects cannot be compared";
}

} // namespace

verdict difference(const value& actual, const value& expected, const tolerance& allowed) {
  return compare(actual, expected, &allowed);
}

verdict type_difference(const value& actual, const value& expected) {
  return compare(actual, expected, nullptr);
}

} // namespace sluice::tools
