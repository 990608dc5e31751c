#pragma once

#include <sluice/scheduler/serial_order.hpp>

namespace sluice {

/// An order in which up to so many steps run at once, and what it costs.
struct branch_order {
  step_schedule schedule;        ///< a lane for each; its ns is the time that all take together
  std::uint64_t least_bytes = 0; ///< the least arena that is safe for it
  double fastest_ns = 0;         ///< the shortest time that was found, whatever memory that takes
};

/// Up to `lanes` steps at a time, in an order with as little memory as is found among those that take at most
/// `slowdown` times the shortest time, by the steps' estimates. Where an order alone would not keep the
/// memory low, steps wait for some of other lanes, which costs no time if the estimates hold.
///
/// @param serial  best_serial_order(g): what branches are measured by and fall back on
/// Throws errc::invalid_argument without lanes, and what link() throws.
[[nodiscard]] SLUICE_API branch_order best_branch_order(const memory_graph& g, const serial_order& serial,
                                                        unsigned lanes, double slowdown = 1.05);

} // namespace sluice
