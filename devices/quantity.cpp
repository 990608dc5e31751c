#include <sluice/devices/quantity.hpp>

#include <sluice/graph/error.hpp>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

namespace sluice {

namespace {

struct unit {
  std::string_view name;
  double factor;
};

constexpr unit byte_units[] = {{"", 1},         {"B", 1},       {"kB", 1e3},     {"MB", 1e6},
                               {"GB", 1e9},     {"TB", 1e12},   {"KiB", 0x1p10}, {"MiB", 0x1p20},
                               {"GiB", 0x1p30}, {"TiB", 0x1p40}};
constexpr unit time_units[] = {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr unit no_units[] = {{"", 1}};

constexpr auto largest = 0x1p62; // of everything that becomes an integer

[[noreturn]] void refuse(std::string_view text, const char* what) {
  throw error{errc::invalid_argument, "'" + std::string{text} + "' is not " + what};
}

/// The number at the beginning of `text` times the unit that is its end, or refuses it as not being `what`.
double scaled(std::string_view text, std::string_view end, std::span<const unit> units, const char* what) {
  double number = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || !std::isfinite(number) || std::signbit(number))
    refuse(text, what);
  std::string_view name{rest, static_cast<std::size_t>(text.data() + text.size() - rest)};
  if (!name.ends_with(end))
    refuse(text, what);
  name.remove_suffix(end.size());
  for (const auto& u : units)
    if (u.name == name && number * u.factor < largest)
      return number * u.factor;
  refuse(text, what);
}

} // namespace

std::size_t parse_bytes(std::string_view text) {
  return static_cast<std::size_t>(scaled(text, "", byte_units, "a number of bytes, such as 512MiB or 2GB"));
}

double parse_bandwidth(std::string_view text) {
  return scaled(text, "/s", byte_units, "a number of bytes per second, such as 12GB/s");
}

std::chrono::nanoseconds parse_duration(std::string_view text) {
  if (text == "0")
    return std::chrono::nanoseconds{0};
  return std::chrono::nanoseconds{
      static_cast<std::int64_t>(scaled(text, "", time_units, "a duration, such as 10us or 1.5ms"))};
}

double parse_number(std::string_view text) {
  return scaled(text, "", no_units, "a number, such as 4 or 0.5");
}

std::size_t parse_count(std::string_view text, std::size_t most) {
  std::size_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc{} || rest != end || number > most)
    refuse(text, ("a whole number of at most " + std::to_string(most)).c_str());
  return number;
}

} // namespace sluice
