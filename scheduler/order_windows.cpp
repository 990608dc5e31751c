#include <sluice/scheduler/order_search.hpp>

#include <algorithm>
#include <initializer_list>

namespace sluice {

namespace {

using index = memory_graph::index;

/// Sets of steps that may be looked at in one window: more in small graphs, where a search costs less.
std::size_t states_in_window(std::size_t steps) {
  return std::clamp<std::size_t>(600'000 / std::max<std::size_t>(steps, 1), 1'000, 6'000);
}

memory_graph reordered(const memory_graph& g, const std::vector<index>& order) {
  std::vector<index> position(order.size());
  for (index i = 0; i < order.size(); ++i)
    position[order[i]] = i;
  memory_graph made;
  made.buffers = g.buffers;
  for (const auto s : order) {
    made.steps.push_back(g.steps[s]);
    for (auto& a : made.steps.back().after)
      a = position[a];
  }
  return made;
}

/// One round: the order is the graph's own.
class window_search {
public:
  window_search(const memory_graph& g, std::uint64_t low) : graph_(g), links_(link(g)), low_(low) {
    const order_segment all{g, links_, 0, static_cast<index>(g.steps.size()), 0};
    auto at = all.begin();
    std::vector<index> trail;
    for (index s = 0; s < g.steps.size(); ++s) {
      alive_.push_back(at.alive);
      during_.push_back(all.cost_of(at, s).during);
      all.run(at, s, trail);
    }
    peak_ = std::max_element(during_.begin(), during_.end()) - during_.begin();
  }

  [[nodiscard]] std::uint64_t peak() const { return during_[static_cast<std::size_t>(peak_)]; }

  /// Moves steps within a window around the highest peak so that it is lower there; false if no window can.
  [[nodiscard]] bool improve(std::vector<index>& order) const {
    const auto n = static_cast<std::ptrdiff_t>(order.size());
    for (const std::ptrdiff_t size : {16, 32, 64, 128, 320})
      for (const std::ptrdiff_t quarter : {2, 1, 3}) {
        const auto first = std::clamp<std::ptrdiff_t>(peak_ - size * quarter / 4, 0, n);
        const auto last = std::min(n, first + size);
        if (search(order, static_cast<index>(first), static_cast<index>(last - first)))
          return true;
        if (size >= n)
          return false;
      }
    return false;
  }

private:
  bool search(std::vector<index>& order, index first, index count) const {
    const order_segment window{graph_, links_, first, count, alive_[first]};
    const auto enough = std::max(low_, peak() - peak() / 50); // a small step is found sooner
    const auto found = search_exactly(window, enough, states_in_window(graph_.steps.size()));
    if (!found || window.peak_of(found->steps) >= peak())
      return false;
    const auto before = order;
    for (index i = 0; i < count; ++i)
      order[first + i] = before[first + found->steps[i]];
    return true;
  }

  const memory_graph& graph_;
  const memory_links links_;
  const std::uint64_t low_;
  std::vector<std::uint64_t> alive_; // before each step
  std::vector<std::uint64_t> during_;
  std::ptrdiff_t peak_ = 0; // where it is
};

} // namespace

std::uint64_t improve_in_windows(const memory_graph& g, std::vector<index>& order, std::uint64_t low,
                                 std::size_t rounds) {
  while (true) {
    const auto now = reordered(g, order);
    const window_search search{now, low};
    if (search.peak() <= low || rounds-- == 0 || !search.improve(order))
      return search.peak();
  }
}

} // namespace sluice
