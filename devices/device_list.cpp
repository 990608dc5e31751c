#include <sluice/devices/device_list.hpp>

#include <sluice/devices/device_name.hpp>
#include <sluice/graph/error.hpp>

#include <algorithm>

namespace sluice {

namespace {

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
  const auto name = device_name::parse(flag.substr(0, sign));
  if (!name.index)
    throw error{errc::invalid_argument,
                "'" + name.kind + "' is not the name of a device, such as " + name.kind + ":0"};
  device_spec d{.kind = name.kind, .index = *name.index};
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
