#pragma once

#include <sluice/scheduler/memory_plan.hpp>

#include <cstdint>
#include <random>
#include <vector>

namespace sluice::test {

/// A random acyclic graph of `steps` steps, about `width` of them independent of each other at any place.
/// Some buffers leave, some are views' or in place, some have no bytes, some no readers.
[[nodiscard]] memory_graph random_memory_graph(std::uint64_t seed, std::size_t steps, std::size_t width = 6);

/// A network of blocks like inception's: in each, `branches` chains between a fork and a join.
[[nodiscard]] memory_graph branching_net(std::size_t blocks, std::size_t branches);

/// A network like densenet's: each step reads what all earlier ones of its block made.
[[nodiscard]] memory_graph dense_net(std::size_t blocks, std::size_t layers);

/// A chain with a shortcut past every two steps, added at its end in place.
[[nodiscard]] memory_graph residual_net(std::size_t blocks);

/// Runs `g` in one random schedule of those that are allowed, many steps at a time, and looks for buffers
/// alive at once that overlap, reach beyond the arena or lie off a boundary, or bytes that were overwritten
/// before their last reader. Returns how many such mistakes there are.
[[nodiscard]] std::size_t mistakes(const memory_graph& g, const step_schedule& allowed, const memory_plan& p,
                                   std::mt19937_64& random);

/// The weight of the heaviest set of buffers that may be alive at once, by trying all sets; in bytes.
[[nodiscard]] std::uint64_t least_memory_by_trying(const memory_graph& g, const step_schedule& allowed);

/// The peak of the best serial order, by dynamic programming over all sets of steps that may have run; in
/// bytes. For up to 24 steps.
[[nodiscard]] std::uint64_t best_peak_by_trying(const memory_graph& g);

} // namespace sluice::test
