#pragma once

#include <sluice/scheduler/step_schedule.hpp>

namespace sluice {

/// An order of single steps, and how good it is.
struct serial_order {
  step_schedule schedule; ///< one lane
  std::uint64_t peak = 0; ///< bytes
  bool optimal = false;   ///< proven: no other order has a lower peak
};

/// How much a search for an order may cost.
struct order_effort {
  std::size_t states = 100'000; ///< sets of steps that have run, looked at by the exact search
  std::size_t beam = 64;        ///< the orders that a search without proof follows at a time
};

/// One step at a time, in an order whose peak of memory is as low as possible: the optimum where the steps
/// can have run in at most `effort.states` sets (downsets); elsewhere the best that is found, never worse
/// than the listed order.
[[nodiscard]] SLUICE_API serial_order best_serial_order(const memory_graph& g,
                                                        const order_effort& effort = {});

} // namespace sluice
