#pragma once

#include <sluice/graph/export.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice {

/// A level of the x86-64 instruction set, as the psABI numbers them. The library is compiled for the lowest;
/// its hot loops are compiled for all, and picked when they are first used.
enum class cpu_level : std::uint8_t {
  v2, ///< SSE4.2: the baseline
  v3, ///< AVX2 and FMA
  v4, ///< AVX-512 F, BW, CD, DQ and VL
};

inline constexpr std::array cpu_levels = {cpu_level::v2, cpu_level::v3, cpu_level::v4};

/// "v2", "v3" or "v4"
[[nodiscard]] SLUICE_API std::string_view to_string(cpu_level l) noexcept;

/// The highest level that this machine has. @threadsafe
[[nodiscard]] SLUICE_API cpu_level supported_cpu_level() noexcept;

/// The level that hot loops are picked for: the supported one, or a lower one that the environment variable
/// SLUICE_CPU_LEVEL names ("v2", "v3"), read once. @threadsafe
[[nodiscard]] SLUICE_API cpu_level active_cpu_level() noexcept;

} // namespace sluice
