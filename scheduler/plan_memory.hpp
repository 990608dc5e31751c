#pragma once

#include <sluice/scheduler/memory_graph.hpp>

namespace sluice {

struct plan;

/// The memory of one frame of a plan: step i is step i of the plan.
struct plan_memory_graph {
  memory_graph graph;
  /// By step and output: the buffer of its elements; none if it has none.
  std::vector<std::vector<memory_graph::index>> outputs;
  std::vector<memory_graph::index> scratch; ///< by step; none if it needs none
};

/// Describes the memory of one frame of `p` on the host, or on an accelerator: buffers hold the elements of
/// tensors, and scratch spaces.
///
/// A view has no buffer, it reads the one that it looks into; what may or may not be a view has its own and
/// reads that, too. Results leave, and what functions or collections may keep. Without a buffer are fed
/// values, constants, outputs whose bytes are unknown until they are there, what other devices make, and what
/// bodies make: their memory is theirs.
[[nodiscard]] SLUICE_API plan_memory_graph memory_of(const plan& p, std::uint32_t device = 0);

} // namespace sluice
