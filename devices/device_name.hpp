#pragma once

#include <sluice/graph/export.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// The name of a device, "cpu:0", or a partial one, "cpu", which means any device of that kind.
///
/// A kind is a lower-case letter, then lower-case letters, digits and `_`; an index is a decimal number of at
/// most 9999.
struct SLUICE_API device_name {
  std::string kind;
  std::optional<unsigned> index; ///< none: a partial name

  /// Reads a name. Throws errc::invalid_argument that quotes `text` and says what is wrong with it.
  [[nodiscard]] static device_name parse(std::string_view text);

  /// True if `device`, a full name, is among those that this name means.
  [[nodiscard]] bool matches(const device_name& device) const noexcept {
    return kind == device.kind && (!index || index == device.index);
  }

  friend auto operator<=>(const device_name&, const device_name&) = default;
};

/// The name as it is written.
[[nodiscard]] SLUICE_API std::string to_string(const device_name& name);

/// Positions in `devices` of those that `scope` means, in their order; all for the empty scope, none if there
/// is no such device here. Throws errc::invalid_argument where `scope` or one of `devices` is no name.
[[nodiscard]] SLUICE_API std::vector<std::uint32_t> find_devices(std::string_view scope,
                                                                 std::span<const std::string> devices);

/// As find_devices(); throws errc::invalid_argument that quotes `scope` and lists `devices` if none is meant.
[[nodiscard]] SLUICE_API std::vector<std::uint32_t> match_devices(std::string_view scope,
                                                                  std::span<const std::string> devices);

} // namespace sluice
