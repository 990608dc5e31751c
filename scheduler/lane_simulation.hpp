#pragma once

#include <sluice/scheduler/step_schedule.hpp>

#include <span>

namespace sluice {

/// What happens when steps take their estimated time in lanes.
struct simulated_lanes {
  step_schedule schedule; ///< with a wait wherever a step begins after one of another lane has ended
  std::uint64_t peak = 0; ///< units
};

/// Runs `g` on `lanes` lanes: whenever one is free, of the steps that are ready the one with the lowest rank
/// begins that keeps memory at `limit` units or less; if none runs and none fits, the one with the lowest
/// fallback.
[[nodiscard]] simulated_lanes simulate_lanes(const memory_graph& g, const memory_links& links, unsigned lanes,
                                             std::uint64_t limit, std::span<const double> rank,
                                             std::span<const double> fallback);

} // namespace sluice
