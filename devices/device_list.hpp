#pragma once

#include <sluice/graph/export.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

/// A device that somebody asks for: its kind and number, and options as text, whose meaning the kind knows.
struct device_spec {
  std::string kind;                                           ///< "sim", "cpu", "cuda"
  unsigned index = 0;                                         ///< among those of its kind
  std::vector<std::pair<std::string, std::string>> options{}; ///< "memory", "512MiB"
  std::string origin{}; ///< for errors: "file 'devices.json'"; may be empty

  /// "sim:0"
  [[nodiscard]] std::string name() const { return kind + ':' + std::to_string(index); }
};

/// A device from a flag: "sim:0" or "sim:0=memory=512MiB,rate=4,bandwidth=12GB/s,latency=10us". Throws
/// errc::invalid_argument, naming the part that is wrong. Whether options make sense is said by who makes the
/// device.
[[nodiscard]] SLUICE_API device_spec parse_device(std::string_view flag);

/// Devices from a JSON file:
///
///     {"devices": {"sim:0": {"memory": "512MiB", "rate": 4}, "sim:1": {}}}
///
/// What else the file's object has is left alone. Throws errc::io_failed and errc::invalid_argument, naming
/// the file and the part that is wrong.
[[nodiscard]] SLUICE_API std::vector<device_spec> read_devices(const std::filesystem::path& file);

/// The same from text that is called `origin` in errors.
[[nodiscard]] SLUICE_API std::vector<device_spec> parse_devices(std::string_view json,
                                                                const std::string& origin);

/// Devices in the order in which they were asked for, each name once.
class SLUICE_API device_list {
public:
  /// Throws errc::invalid_argument if there is one of that name already, from whichever source.
  void add(device_spec d);
  void add_flag(std::string_view flag) { add(parse_device(flag)); }
  void add_file(const std::filesystem::path& file);

  /// The device of that name, or null.
  [[nodiscard]] const device_spec* find(std::string_view name) const noexcept;
  [[nodiscard]] auto begin() const noexcept { return devices_.begin(); }
  [[nodiscard]] auto end() const noexcept { return devices_.end(); }
  [[nodiscard]] std::size_t size() const noexcept { return devices_.size(); }

private:
  std::vector<device_spec> devices_;
};

namespace detail {
/// "file 'x': device 'sim:0'", as errors about it begin.
[[nodiscard]] std::string called(const device_spec& d);
} // namespace detail

} // namespace sluice
