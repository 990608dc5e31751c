#pragma once

#include <sluice/scheduler/placement_problem.hpp>

namespace sluice::test {

/// The finish time of plain HEFT with insertion, which knows nothing of memory; transfers wait for a copy
/// engine.
[[nodiscard]] double heft_finish(const placement_problem& problem);

/// The least finish time there is, by trying all places and all orders that can be better; memory apart. For
/// about ten steps, one lane a device.
[[nodiscard]] double least_finish(const placement_problem& problem);

} // namespace sluice::test
