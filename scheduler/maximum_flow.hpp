#pragma once

#include <sluice/graph/export.hpp>

#include <cstdint>
#include <vector>

namespace sluice {

/// A network whose greatest flow is sought (Dinic's algorithm).
class SLUICE_API flow_network {
public:
  using index = std::uint32_t;
  static constexpr std::uint64_t unlimited = ~std::uint64_t{0} / 4;

  explicit flow_network(std::size_t nodes) : first_(nodes, none) {}

  index add_node();
  void add_arc(index from, index to, std::uint64_t capacity);

  /// The greatest flow from `source` to `sink`; uses up capacities. The arcs of every path must not be all
  /// unlimited.
  std::uint64_t saturate(index source, index sink);

private:
  static constexpr index none = ~index{0};
  struct arc { // arc i and its reverse, i ^ 1, lie side by side
    index to;
    index next;
    std::uint64_t left;
  };

  bool find_levels(index source, index sink);
  std::uint64_t push_along_levels(index source, index sink);

  std::vector<index> first_; // by node: the last arc that was added; they are chained
  std::vector<arc> arcs_;
  std::vector<index> level_;
  std::vector<index> current_; // by node: the arc to try next
};

} // namespace sluice
