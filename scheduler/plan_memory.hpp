#pragma once

#include <sluice/scheduler/memory_graph.hpp>

namespace sluice {

struct plan;

/// The memory of one frame of `p` on the host: buffers hold tensors with their headers, and scratch spaces;
/// step i is step i of the plan.
///
/// A view has no buffer, it reads the one that it looks into; what may or may not be a view has its own and
/// reads that, too. Results leave, and what functions or collections may keep. Without a buffer are fed
/// values, constants, outputs whose bytes are unknown until they are there, what other devices make, and what
/// bodies make: their memory is theirs.
[[nodiscard]] SLUICE_API memory_graph memory_graph_of(const plan& p);

} // namespace sluice
