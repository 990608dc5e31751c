#pragma once

#include <sluice/graph/export.hpp>

#include <cstdint>
#include <vector>

namespace sluice {

/// A graph as its memory is planned: steps in topological order, and the buffers that they make and read.
struct memory_graph {
  using index = std::uint32_t;
  static constexpr index none = ~index{0};

  struct buffer {
    std::uint64_t bytes = 0;
    bool leaves = false; ///< may outlive the frame: has memory of its own, not the arena's
  };
  /// A buffer that the step makes may stand in the bytes of one that it reads.
  struct in_place_pair {
    index made;
    index read;
  };
  struct step {
    std::vector<index> makes; ///< scratch space, too: a buffer that no step reads
    std::vector<index> reads; ///< what this step needs unchanged, directly or through a view
    std::vector<index> after; ///< steps that must have ended, besides those that make what it reads
    std::vector<in_place_pair> in_place;
    double ns = 1; ///< estimated time
  };

  std::vector<buffer> buffers; ///< each made by exactly one step
  std::vector<step> steps;
};

/// Buffers are laid out in units of so many bytes.
inline constexpr std::uint64_t memory_unit = 64;

/// A memory graph with what follows from it, by index, each list ascending and without repetition.
struct memory_links {
  std::vector<std::uint64_t> units; ///< by buffer; 0 if it leaves
  std::vector<memory_graph::index> maker;
  std::vector<std::vector<memory_graph::index>> readers;
  std::vector<std::vector<memory_graph::index>> before; ///< by step: those that it directly waits for
  std::vector<std::vector<memory_graph::index>> after;  ///< by step: those that directly wait for it
};

/// Checks `g`. Throws errc::invalid_argument where it is no graph as described, errc::out_of_memory if the
/// sum of all buffers cannot be counted in 64 bits.
[[nodiscard]] SLUICE_API memory_links link(const memory_graph& g);

} // namespace sluice
