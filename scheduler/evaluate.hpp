#pragma once

#include <sluice/devices/operator_library.hpp>
#include <sluice/graph/graph.hpp>

#include <span>
#include <vector>

namespace sluice {

/// Runs one node now, on this thread: for constant folding, and as the plain meaning of an operator that the
/// runtime's results are checked against.
///
/// Returns the node's outputs. Throws what inference or the kernel throws, naming the node, and
/// errc::unsupported where there is no kernel for the CPU or the kernel must wait.
[[nodiscard]] SLUICE_API std::vector<value> evaluate(const operator_library& operators, const graph::node& n,
                                                     std::span<const value> inputs,
                                                     memory& from = memory::heap());

/// Runs a whole graph, node by node in its order, on this thread; bodies of control flow too.
/// @param inputs  one for each of the graph's inputs
/// @returns       one for each of its outputs
[[nodiscard]] SLUICE_API std::vector<value> evaluate(const operator_library& operators, const graph& g,
                                                     std::span<const value> inputs,
                                                     memory& from = memory::heap());

} // namespace sluice
