#pragma once

#include <sluice/graph/export.hpp>

#include <chrono>
#include <cstddef>
#include <string_view>

namespace sluice {

/// A count of bytes as people write it: "1000", "64kB", "512MiB", "1.5GB". Units: B, kB, MB, GB, TB (powers
/// of 1000), KiB, MiB, GiB, TiB (powers of 1024). Throws errc::invalid_argument, quoting the text.
[[nodiscard]] SLUICE_API std::size_t parse_bytes(std::string_view text);

/// Bytes per second: "12GB/s", in the units of parse_bytes. Throws errc::invalid_argument, quoting the text.
[[nodiscard]] SLUICE_API double parse_bandwidth(std::string_view text);

/// "10us", "1.5ms", "2s", "500ns"; a unit is demanded of all but 0. Throws errc::invalid_argument, quoting
/// the text.
[[nodiscard]] SLUICE_API std::chrono::nanoseconds parse_duration(std::string_view text);

/// A number that is not negative, without a unit: "4", "0.5". Throws errc::invalid_argument, quoting the
/// text.
[[nodiscard]] SLUICE_API double parse_number(std::string_view text);

/// A whole number without a unit, at most `most`. Throws errc::invalid_argument, quoting the text.
[[nodiscard]] SLUICE_API std::size_t parse_count(std::string_view text, std::size_t most);

} // namespace sluice
