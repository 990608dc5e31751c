#include <sluice/ops/convert.hpp>

#include <sluice/ops/small_floats.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace sluice::ops {

namespace {

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view space = " \t\r\n\f\v";
  const auto first = s.find_first_not_of(space);
  return first == std::string_view::npos ? std::string_view{}
                                         : s.substr(first, s.find_last_not_of(space) - first + 1);
}

[[noreturn]] void not_a_number(const std::string& s) {
  throw error{errc::kernel_failed, "the string '" + s + "' is not a number"};
}

/// Plain and scientific notation, INF and NaN in any case, a sign.
double parse_real(const std::string& s) {
  auto text = trimmed(s);
  if (!text.empty() && text.front() == '+')
    text.remove_prefix(1);
  double x = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (failure == std::errc::result_out_of_range && end == text.data() + text.size())
    return std::strtod(std::string{text}.c_str(), nullptr);
  if (failure != std::errc{} || end != text.data() + text.size())
    not_a_number(s);
  return x;
}

template <class To>
To parse(const std::string& s) {
  if constexpr (std::is_same_v<To, float> || is_small_float<To>) {
    return static_cast<To>(static_cast<float>(parse_real(s)));
  } else if constexpr (std::is_same_v<To, double>) {
    return parse_real(s);
  } else if constexpr (std::is_same_v<To, bool>) {
    const auto text = trimmed(s);
    if (text == "True" || text == "true")
      return true;
    if (text == "False" || text == "false")
      return false;
    return parse_real(s) != 0;
  } else {
    auto text = trimmed(s);
    if (!text.empty() && text.front() == '+')
      text.remove_prefix(1);
    std::conditional_t<std::is_signed_v<To>, std::int64_t, std::uint64_t> x = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), x);
    if (failure == std::errc{} && end == text.data() + text.size())
      return static_cast<To>(x);
    return to_integer<To>(parse_real(s)); // "1e3", "2.5"
  }
}

/// The shortest decimal that reads back as the same number.
template <class From>
std::string print(From x) {
  if constexpr (std::is_same_v<From, bool>)
    return x ? "1" : "0";
  else if constexpr (is_small_float<From>)
    return print(static_cast<float>(x));
  else {
    if constexpr (std::is_floating_point_v<From>) {
      if (std::isnan(x))
        return "NaN";
      if (std::isinf(x))
        return x > 0 ? "INF" : "-INF";
    }
    std::array<char, 64> text;
    const auto [end, failure] = std::to_chars(text.data(), text.data() + text.size(), x);
    return {text.data(), end};
  }
}

template <class From, class To>
void convert_all(const From* x, To* y, std::size_t n) {
  if constexpr (is_small_float<From> && std::is_same_v<To, float>)
    to_floats(x, y, n);
  else if constexpr (std::is_same_v<From, float> && is_small_float<To>)
    from_floats(x, y, n);
  else
    for (std::size_t i = 0; i < n; ++i)
      if constexpr (std::is_same_v<From, std::string> && std::is_same_v<To, std::string>)
        y[i] = x[i];
      else if constexpr (std::is_same_v<From, std::string>)
        y[i] = parse<To>(x[i]);
      else if constexpr (std::is_same_v<To, std::string>)
        y[i] = print(x[i]);
      else
        y[i] = convert<To>(x[i]);
}

} // namespace

void convert_elements(const void* x, element_type from, void* y, element_type to, std::size_t n) {
  using types = decltype(most_types{} + type_list<std::string>{});
  visit_among(types{}, from, [&]<class From>(std::type_identity<From>) {
    visit_among(types{}, to, [&]<class To>(std::type_identity<To>) {
      convert_all(static_cast<const From*>(x), static_cast<To*>(y), n);
    });
  });
}

} // namespace sluice::ops
