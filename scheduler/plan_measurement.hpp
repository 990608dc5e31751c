#pragma once

#include <sluice/devices/operator_library.hpp>
#include <sluice/graph/value.hpp>
#include <sluice/scheduler/kernel_profile.hpp>

#include <functional>
#include <span>
#include <vector>

namespace sluice {

class executor;
struct plan;

/// What a plan's steps took, one after another in the plan's order on one thread with its helpers.
struct plan_times {
  std::vector<double> step_ns; ///< by step: median over the rounds
  double serial_ns = 0;        ///< of a whole round: median
  std::size_t rounds = 0;
};

/// How long to measure: rounds until `seconds` have passed, at least and at most so many.
struct measuring_effort {
  double seconds = 1;
  std::size_t least_rounds = 5;
  std::size_t most_rounds = 200;
  std::function<void(std::size_t round)> done{}; ///< told after each round; may be empty
};

/// Executes all steps as often as it takes, in the order in which data flows, so that each finds caches as
/// they are in a run; a first round does not count.
/// @param feeds  one for each fed edge of the plan
/// @param where  whose thread executes, with plan.width of its threads
/// Blocks; not on a worker. Throws what kernels throw.
[[nodiscard]] SLUICE_API plan_times measure(const plan& p, const operator_library& operators,
                                            std::span<const value> feeds, executor& where,
                                            const measuring_effort& effort = {});

/// Puts what was measured of kernels into a profile; steps without a kernel or formula are left out.
SLUICE_API void record(const plan& p, const plan_times& times, kernel_profile& into);

} // namespace sluice
