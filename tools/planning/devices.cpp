#include <tools/planning/devices.hpp>

#include <tools/exit_code.hpp>

#include <sluice/devices/device_name.hpp>
#include <sluice/devices/quantity.hpp>

namespace sluice::tools {

device_list asked_devices(const device_options& o) {
  device_list all;
  for (const auto& flag : o.devices)
    all.add_flag(flag);
  for (const auto& file : o.device_files)
    all.add_file(file);
  return all;
}

std::map<std::string, std::optional<std::size_t>> asked_budgets(const device_options& o) {
  std::map<std::string, std::optional<std::size_t>> all;
  for (const auto& text : o.budgets) {
    const auto at = text.find('=');
    if (at == std::string::npos)
      throw command_error{exit_code::usage, "--budget: '" + text + "' is not like sim:0=512MiB"};
    const auto name = device_name::parse(text.substr(0, at));
    if (!name.index)
      throw command_error{exit_code::usage, "--budget: device '" + text.substr(0, at) + "' has no number"};
    const auto size = text.substr(at + 1);
    if (!all.emplace(to_string(name), size == "auto" ? std::nullopt : std::optional{parse_bytes(size)})
             .second)
      throw command_error{exit_code::usage, "--budget: device '" + to_string(name) + "' is given twice"};
  }
  return all;
}

} // namespace sluice::tools
