#pragma once

#include <sluice/graph/graph.hpp>
#include <sluice/scheduler/memory_graph.hpp>

namespace sluice {

struct plan;

/// The memory of one frame of `p`: buffers hold tensors with their headers, and scratch spaces; step i is
/// step i of the plan.
///
/// A view has no buffer, it reads the one that it looks into; what may or may not be a view has its own and
/// reads that, too. Results leave, and what functions or collections may keep. Without a buffer are fed
/// values, constants, outputs whose bytes are unknown until they are there, and what bodies make: their
/// memory is theirs.
[[nodiscard]] SLUICE_API memory_graph memory_graph_of(const plan& p);

/// True if output `port` of `n` is always a view of its first input, or that input itself.
[[nodiscard]] SLUICE_API bool is_view(const graph::node& n, std::size_t port);

} // namespace sluice
