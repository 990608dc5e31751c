#include <sluice/devices/device_list.hpp>

#include <sluice/devices/quantity.hpp>
#include <sluice/graph/error.hpp>

#include <algorithm>

namespace sluice {

namespace {

constexpr unsigned max_index = 9'999;

bool is_word(std::string_view s) {
  return !s.empty() && s.front() >= 'a' && s.front() <= 'z' && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void add_option(device_spec& d, std::string_view text) {
  const auto sign = text.find('=');
  if (sign == std::string_view::npos || sign == 0 || sign + 1 == text.size())
    throw error{errc::invalid_argument,
                detail::called(d) + ": '" + std::string{text} + "' is not an option, such as memory=512MiB"};
  d.options.emplace_back(text.substr(0, sign), text.substr(sign + 1));
}

} // namespace

std::string detail::called(const device_spec& d) {
  return (d.origin.empty() ? "" : d.origin + ": ") + "device '" + d.name() + "'";
}

device_spec parse_device(std::string_view flag) {
  const auto sign = flag.find('=');
  const auto name = flag.substr(0, sign);
  const auto colon = name.find(':');
  device_spec d;
  d.kind = name.substr(0, colon);
  if (colon == std::string_view::npos || !is_word(d.kind))
    throw error{errc::invalid_argument,
                "'" + std::string{name} + "' is not the name of a device, such as sim:0"};
  try {
    d.index = static_cast<unsigned>(parse_count(name.substr(colon + 1), max_index));
  } catch (const error& e) {
    throw error{errc::invalid_argument, "device '" + std::string{name} + "': " + e.what()};
  }
  if (sign == std::string_view::npos)
    return d;
  for (auto rest = flag.substr(sign + 1);;) {
    const auto comma = rest.find(',');
    add_option(d, rest.substr(0, comma));
    if (comma == std::string_view::npos)
      return d;
    rest.remove_prefix(comma + 1);
  }
}

void device_list::add(device_spec d) {
  if (const auto* const other = find(d.name()))
    throw error{errc::invalid_argument,
                detail::called(d) + " is there already" +
                    (other->origin.empty() || other->origin == d.origin ? "" : ", from " + other->origin)};
  devices_.push_back(std::move(d));
}

void device_list::add_file(const std::filesystem::path& file) {
  for (auto& d : read_devices(file))
    add(std::move(d));
}

const device_spec* device_list::find(std::string_view name) const noexcept {
  const auto found =
      std::find_if(devices_.begin(), devices_.end(), [&](const auto& d) { return d.name() == name; });
  return found == devices_.end() ? nullptr : &*found;
}

} // namespace sluice
