#pragma once

#include "scalars.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

/// Heard at the start of every C++ function of a graph, with the function's name; may throw.
using node_hook = std::function<void(const std::string& node)>;

/// A graph that has everything: fan-out and fan-in, a node with state, operators, an If and a Loop with
/// nodes of their own.
///
///     x → root → left → count (stateful: adds up what it saw) ────────┐
///            ├─→ right ─→ sum (Add of left, right) ─┐                 ├→ join → y
///            ├─→ mid ───────────────────────────────┼→ If → Loop ×3 ──┘
///            └─→ positive ──────────────────────────┘
class branching_graph {
public:
  /// @param hook  shared with the graph; may be changed while nothing runs
  branching_graph(const engine& e, std::shared_ptr<node_hook> hook);

  std::shared_ptr<const graph> model;

  /// What y is for x, when the node with state has added up `before` so far.
  [[nodiscard]] static float expected(float x, float before);
  /// What the node with state adds up for x.
  [[nodiscard]] static float counted(float x);

  /// All functions, those of bodies as "owner/inner", as far as they are executed for a positive x.
  [[nodiscard]] static const std::vector<std::string>& nodes();
  /// The place of a node, or of the owner of its body, in the order of the graph.
  [[nodiscard]] node_index place_of(const std::string& node) const;
};

} // namespace sluice::test
