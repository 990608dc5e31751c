#pragma once

#include <sluice/scheduler/placement.hpp>

#include <string>
#include <vector>

namespace sluice::test {

/// What came of carrying a schedule out, event by event.
struct replayed {
  std::vector<std::string> faults; ///< what the schedule did that it must not
  double finish_ns = 0;
  std::vector<std::size_t> peak_bytes; ///< by device
  std::vector<std::size_t> link_bytes; ///< by link
};

/// Carries out a placement by discrete events, with no code of the scheduler's: starts what the schedule
/// starts when it says so, takes times, sizes and limits from the problem, and notes every step that starts
/// before its inputs are on its device, every device or link that does more at once than it can, every step
/// or transfer that takes another time than it must or is made twice or not at all, every byte over a budget.
[[nodiscard]] replayed replay(const placement_problem& problem, const made_placement& made);

} // namespace sluice::test
