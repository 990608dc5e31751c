#pragma once

#include <sluice/devices/device_list.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::tools {

/// The devices that a command line asks for, beside the host.
struct device_options {
  std::vector<std::string> devices;      ///< "sim:0=memory=512MiB,rate=4"
  std::vector<std::string> device_files; ///< JSON
  std::vector<std::string> budgets;      ///< "sim:0=512MiB", "cpu:0=auto"
};

/// All of them; "cpu:0" is there only if somebody says something of it. Throws command_error and what
/// device_list throws.
[[nodiscard]] device_list asked_devices(const device_options& o);

/// Budgets by device; nullopt means `auto`. Throws command_error for a text that is not like sim:0=512MiB,
/// and for a device that is given twice.
[[nodiscard]] std::map<std::string, std::optional<std::size_t>> asked_budgets(const device_options& o);

} // namespace sluice::tools
