#pragma once

#include <sluice/scheduler/step_schedule.hpp>

namespace sluice {

/// Where the buffers of a memory graph lie in one arena.
struct memory_plan {
  static constexpr std::uint64_t not_placed = ~std::uint64_t{0};

  std::vector<std::uint64_t> offsets; ///< by buffer, in bytes; not_placed if it leaves or has no bytes
  std::vector<memory_graph::index> takes_over; ///< by buffer: whose bytes it stands in; none: fresh ones
  std::uint64_t bytes = 0;                     ///< the arena's size
  std::uint64_t least_bytes = 0;               ///< no arena that is safe for all allowed schedules is smaller
};

/// Lays out an arena in which no two buffers that may be alive at once overlap, whichever of the `allowed`
/// schedules happens; an output stands in its input's bytes wherever its step permits it and no other step
/// can still read them. The same input gives the same plan.
///
/// Takes up to 0.1 s for 2,000 steps. Throws what link() and step_precedence throw.
[[nodiscard]] SLUICE_API memory_plan plan_memory(const memory_graph& g, const step_schedule& allowed);

/// The least_bytes of plan_memory(), without a layout: what an order costs.
[[nodiscard]] SLUICE_API std::uint64_t least_memory(const memory_graph& g, const step_schedule& allowed);

} // namespace sluice
