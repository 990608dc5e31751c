#include <tools/feeds/numbers.hpp>

#include <sluice/graph/tensor.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

namespace sluice::tools {

namespace {

template <class T>
std::optional<T> number(std::string_view text) {
  if (text.starts_with('+'))
    text.remove_prefix(1);
  T x{};
  const auto* end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, x);
  if (problem != std::errc{} || at != end)
    return {};
  return x;
}

template <class T>
std::optional<value> all_numbers(const std::vector<std::string>& words) {
  std::vector<T> numbers;
  for (const auto& w : words) {
    const auto x = number<T>(w);
    if (!x)
      return {};
    numbers.push_back(*x);
  }
  const auto s = words.size() == 1 ? shape{} : shape{static_cast<std::int64_t>(words.size())};
  return value{tensor::of<T>(s, std::span<const T>{numbers})};
}

std::optional<value> all_booleans(const std::vector<std::string>& words) {
  if (!std::all_of(words.begin(), words.end(), [](const auto& w) { return w == "true" || w == "false"; }))
    return {};
  const auto s = words.size() == 1 ? shape{} : shape{static_cast<std::int64_t>(words.size())};
  auto t = tensor::make(element_type::boolean, s);
  std::transform(words.begin(), words.end(), t->data<bool>().begin(),
                 [](const auto& w) { return w == "true"; });
  return value{t};
}

std::string readable(double x, double step, const char* const* units, int last) {
  int unit = 0;
  while (std::abs(x) >= step && unit < last) {
    x /= step;
    ++unit;
  }
  std::ostringstream s;
  s.precision(3);
  s << (x >= 100 ? std::round(x) : x) << units[unit];
  return s.str();
}

} // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos)
      return parts;
    text.remove_prefix(at + 1);
  }
}

shape parse_shape(std::string_view text) {
  if (text == "scalar")
    return {};
  std::vector<std::int64_t> dims;
  for (const auto& word : split(text, 'x')) {
    const auto n = number<std::int64_t>(word);
    if (!n || *n < 0)
      throw error{errc::invalid_argument, "'" + std::string{text} + "' is not a shape such as 1x3x224x224"};
    dims.push_back(*n);
  }
  return shape{dims};
}

element_type parse_element_type(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, element_type>, 6> other_words{{
      {"float", element_type::float32},
      {"double", element_type::float64},
      {"half", element_type::float16},
      {"int", element_type::int64},
      {"bool", element_type::boolean},
      {"str", element_type::string},
  }};
  for (const auto& [word, type] : other_words)
    if (word == text)
      return type;
  for (int i = 1; i < element_type_count; ++i)
    if (to_string(static_cast<element_type>(i)) == text)
      return static_cast<element_type>(i);
  throw error{errc::invalid_argument, "'" + std::string{text} + "' is not an element type such as float32"};
}

std::int64_t parse_integer(std::string_view text, std::string_view what) {
  if (const auto n = number<std::int64_t>(text))
    return *n;
  throw error{errc::invalid_argument, "'" + std::string{text} + "' is not " + std::string{what}};
}

std::optional<value> parse_numbers(std::string_view text) {
  const auto words = split(text, ',');
  if (auto v = all_numbers<std::int64_t>(words))
    return v;
  if (auto v = all_numbers<double>(words))
    return v;
  return all_booleans(words);
}

std::string readable_bytes(double bytes) {
  constexpr const char* units[] = {" B", " kB", " MB", " GB", " TB"};
  return readable(bytes, 1000, units, 4);
}

std::string readable_count(double count) {
  constexpr const char* units[] = {"", " k", " M", " G", " T"};
  return readable(count, 1000, units, 4);
}

} // namespace sluice::tools
