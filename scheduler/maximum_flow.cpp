#include <sluice/scheduler/maximum_flow.hpp>

#include <algorithm>

namespace sluice {

flow_network::index flow_network::add_node() {
  first_.push_back(none);
  return static_cast<index>(first_.size() - 1);
}

void flow_network::add_arc(index from, index to, std::uint64_t capacity) {
  arcs_.push_back({to, first_[from], capacity});
  first_[from] = static_cast<index>(arcs_.size() - 1);
  arcs_.push_back({from, first_[to], 0});
  first_[to] = static_cast<index>(arcs_.size() - 1);
}

std::uint64_t flow_network::saturate(index source, index sink) {
  std::uint64_t flow = 0;
  while (find_levels(source, sink))
    flow += push_along_levels(source, sink);
  return flow;
}

bool flow_network::find_levels(index source, index sink) {
  level_.assign(first_.size(), none);
  level_[source] = 0;
  std::vector<index> queue{source};
  for (std::size_t at = 0; at < queue.size() && level_[sink] == none; ++at)
    for (auto i = first_[queue[at]]; i != none; i = arcs_[i].next)
      if (arcs_[i].left > 0 && level_[arcs_[i].to] == none) {
        level_[arcs_[i].to] = level_[queue[at]] + 1;
        queue.push_back(arcs_[i].to);
      }
  return level_[sink] != none;
}

/// Sends flow along shortest paths until each of them has a used up arc.
std::uint64_t flow_network::push_along_levels(index source, index sink) {
  current_ = first_;
  std::uint64_t flow = 0;
  std::vector<index> path; // arcs
  auto at = source;
  while (true) {
    if (at == sink) {
      auto least = unlimited;
      for (const auto i : path)
        least = std::min(least, arcs_[i].left);
      flow += least;
      std::size_t keep = path.size();
      for (auto k = path.size(); k-- > 0;) {
        arcs_[path[k]].left -= least;
        arcs_[path[k] ^ 1].left += least;
        if (arcs_[path[k]].left == 0)
          keep = k;
      }
      at = arcs_[path[keep] ^ 1].to;
      path.resize(keep);
      continue;
    }
    auto& i = current_[at];
    while (i != none && (arcs_[i].left == 0 || level_[arcs_[i].to] != level_[at] + 1))
      i = arcs_[i].next;
    if (i != none) {
      path.push_back(i);
      at = arcs_[i].to;
    } else if (path.empty()) {
      return flow;
    } else {
      level_[at] = none; // leads nowhere
      at = arcs_[path.back() ^ 1].to;
      path.pop_back();
    }
  }
}

} // namespace sluice
