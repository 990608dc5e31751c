#include <sluice/devices/device_list.hpp>
#include <sluice/devices/strict_json.hpp>
#include <sluice/graph/error.hpp>
#include <sluice/graph/mapped_file.hpp>

namespace sluice {

namespace {

using json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& origin, const std::string& why) {
  throw error{errc::invalid_argument, origin + ": " + why};
}

std::string text_of(const json& option, const device_spec& d, const std::string& key) {
  if (option.is_string())
    return option.get<std::string>();
  if (option.is_number())
    return option.dump();
  throw error{errc::invalid_argument, detail::called(d) + ": option '" + key + "' is a " +
                                          option.type_name() + ", where a string or a number is expected"};
}

} // namespace

std::vector<device_spec> parse_devices(std::string_view text, const std::string& origin) {
  const auto file = parse_strict_json(text, origin);
  const auto devices = file.is_object() ? file.find("devices") : file.end();
  if (devices == file.end() || !devices->is_object())
    refuse(origin,
           "there is no object 'devices', such as {\"devices\": {\"sim:0\": {\"memory\": \"512MiB\"}}}");
  std::vector<device_spec> found;
  for (const auto& [name, options] : devices->items()) {
    device_spec d;
    try {
      if (name.find('=') != std::string::npos)
        throw error{errc::invalid_argument, "'" + name + "' is not the name of a device, such as sim:0"};
      d = parse_device(name);
    } catch (const error& e) {
      refuse(origin, e.what());
    }
    d.origin = origin;
    if (!options.is_object())
      throw error{errc::invalid_argument, detail::called(d) + " is a " + options.type_name() +
                                              ", where an object of options is expected"};
    for (const auto& [key, option] : options.items())
      d.options.emplace_back(key, text_of(option, d, key));
    found.push_back(std::move(d));
  }
  return found;
}

std::vector<device_spec> read_devices(const std::filesystem::path& file) {
  const auto content = mapped_file::open(file);
  return parse_devices({reinterpret_cast<const char*>(content->bytes().data()), content->bytes().size()},
                       "file '" + file.string() + "'");
}

} // namespace sluice
