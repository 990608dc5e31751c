#include <sluice/devices/device_name.hpp>

#include <sluice/devices/quantity.hpp>
#include <sluice/graph/error.hpp>

#include <algorithm>
#include <numeric>

namespace sluice {

namespace {

constexpr std::size_t max_index = 9'999;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_kind(std::string_view text) {
  return !text.empty() && is_lower(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw error{errc::invalid_argument, "'" + std::string{text} +
                                          "' is not the name of a device: " + std::string{why} +
                                          "; write a kind, 'cpu', or a kind and a number, 'cpu:0'"};
}

} // namespace

device_name device_name::parse(std::string_view text) {
  const auto colon = text.find(':');
  device_name name{std::string{text.substr(0, colon)}, std::nullopt};
  if (!is_kind(name.kind))
    refuse(text, name.kind.empty()
                     ? "the kind is missing"
                     : "a kind has lower-case letters, digits and '_', and starts with a letter");
  if (colon == std::string_view::npos)
    return name;
  try {
    name.index = static_cast<unsigned>(parse_count(text.substr(colon + 1), max_index));
  } catch (const error& e) {
    refuse(text, e.what());
  }
  return name;
}

std::string to_string(const device_name& name) {
  return name.index ? name.kind + ":" + std::to_string(*name.index) : name.kind;
}

std::vector<std::uint32_t> find_devices(std::string_view scope, std::span<const std::string> devices) {
  std::vector<std::uint32_t> found;
  if (scope.empty()) {
    found.resize(devices.size());
    std::iota(found.begin(), found.end(), 0U);
    return found;
  }
  const auto wanted = device_name::parse(scope);
  for (std::uint32_t d = 0; d < devices.size(); ++d)
    if (wanted.matches(device_name::parse(devices[d])))
      found.push_back(d);
  return found;
}

std::vector<std::uint32_t> match_devices(std::string_view scope, std::span<const std::string> devices) {
  auto found = find_devices(scope, devices);
  if (!found.empty())
    return found;
  std::string list;
  for (const auto& device : devices)
    list += (list.empty() ? "" : ", ") + device;
  throw error{errc::invalid_argument, "no device is called '" + std::string{scope} + "'; there " +
                                          (list.empty() ? "are none" : "is " + list)};
}

} // namespace sluice
