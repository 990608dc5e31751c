#pragma once

#include <sluice/scheduler/placement.hpp>

#include <span>

namespace sluice {

/// Of the devices whose budget a schedule exceeds, the one that lacks most, and what it holds at its peak.
/// Internal to `scheduler/`.
[[nodiscard]] placement_shortage find_shortage(const placement_problem& problem,
                                               std::span<const std::uint32_t> places,
                                               const placement_schedule& schedule);

} // namespace sluice
