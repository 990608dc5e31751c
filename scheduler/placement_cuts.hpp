#pragma once

#include <sluice/scheduler/placement_timeline.hpp>
#include <sluice/scheduler/placement_units.hpp>

#include <limits>
#include <vector>

namespace sluice {

/// What a cut weighs transfers against.
struct placement_prices {
  double time = 1;        ///< of a nanosecond of a step, where one of a transfer costs 1
  double weight_byte = 0; ///< of a byte of weights on the second device, in nanoseconds
  double value_byte = 0;  ///< of a byte of outputs there
  /// What a step on the second device may hold while it runs, weights apart.
  double most_bytes = std::numeric_limits<double>::infinity();
};

/// Divides the steps between two devices so that transfers, times and bytes at these prices are least
/// together: a minimum cut, exact for two devices, with each value sent once. Finds the partings that cross
/// few and small edges, which changes of single steps do not reach. Units that may go to neither stay where
/// they are fastest. Internal to `scheduler/`.
[[nodiscard]] std::vector<std::uint32_t> place_by_cut(const placement_problem& problem,
                                                      const placement_units& units,
                                                      const placement_timeline& timeline, std::uint32_t first,
                                                      std::uint32_t second, const placement_prices& prices);

} // namespace sluice
