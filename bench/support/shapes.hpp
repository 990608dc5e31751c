#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice::bench {

/// A graph of nodes that only cost time; node 0 is the source, the last one the sink.
struct dataflow_shape {
  struct node {
    std::vector<std::pair<std::size_t, std::size_t>> to; ///< consumers: node, port
    std::size_t ports = 0;                               ///< inputs
  };
  std::string name;
  std::vector<node> nodes;

  std::size_t add() {
    nodes.emplace_back();
    return nodes.size() - 1;
  }
  void connect(std::size_t from, std::size_t to) { nodes[from].to.emplace_back(to, nodes[to].ports++); }
  [[nodiscard]] std::size_t edges() const {
    std::size_t n = 1; // from the sink back to the source: the completion of a frame opens the next
    for (const auto& x : nodes)
      n += x.to.size();
    return n;
  }
};

/// `length` nodes in a row.
[[nodiscard]] inline dataflow_shape chain(std::size_t length) {
  dataflow_shape s{.name = "chain" + std::to_string(length), .nodes = {}};
  s.add();
  for (std::size_t i = 1; i < length; ++i)
    s.connect(i - 1, s.add());
  return s;
}

/// `rows` times: one node to `width` nodes, and these to the next one.
[[nodiscard]] inline dataflow_shape diamonds(std::size_t width, std::size_t rows) {
  dataflow_shape s{.name = "diamond" + std::to_string(width) + (rows > 1 ? "x" + std::to_string(rows) : ""),
                   .nodes = {}};
  auto from = s.add();
  for (std::size_t r = 0; r < rows; ++r) {
    const auto first = s.nodes.size();
    for (std::size_t i = 0; i < width; ++i)
      s.connect(from, s.add());
    const auto join = s.add();
    for (std::size_t i = 0; i < width; ++i)
      s.connect(first + i, join);
    from = join;
  }
  return s;
}

/// Ten blocks as in MobileNet: a bottleneck of two branches with a residual edge.
[[nodiscard]] inline dataflow_shape mobilenet() {
  static constexpr std::pair<std::size_t, std::size_t> block[] = {
      {0, 1}, {1, 2}, {2, 3}, {3, 4}, {3, 6}, {4, 5}, {6, 7}, {5, 8}, {7, 8}, {8, 9}, {0, 9}};
  dataflow_shape s{.name = "mobilenet100", .nodes = {}};
  for (std::size_t b = 0; b < 10; ++b) {
    const auto first = s.nodes.size();
    for (int i = 0; i < 10; ++i)
      s.add();
    if (b > 0)
      s.connect(first - 1, first);
    for (const auto& [from, to] : block)
      s.connect(first + from, first + to);
  }
  return s;
}

} // namespace sluice::bench
