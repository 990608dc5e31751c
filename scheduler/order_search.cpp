#include <sluice/scheduler/order_search.hpp>

#include <algorithm>
#include <deque>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace sluice {

namespace {

using index = memory_graph::index;
using state = order_segment::state;

struct hash_of_id {
  std::size_t operator()(const order_segment::hash& id) const noexcept { return id[0]; }
};

/// A state that was reached, and how.
struct reached {
  state at;
  std::uint64_t peak = 0;
  std::size_t parent = 0; // itself for the first
  std::vector<index> trail{};
};

segment_order order_to(const std::deque<reached>& all, std::size_t last) {
  std::vector<std::size_t> path{last};
  while (all[path.back()].parent != path.back())
    path.push_back(all[path.back()].parent);
  segment_order made;
  made.peak = all[last].peak;
  for (auto i = path.rbegin(); i != path.rend(); ++i)
    made.steps.insert(made.steps.end(), all[*i].trail.begin(), all[*i].trail.end());
  return made;
}

/// A step that may run next after a state.
struct candidate {
  std::uint64_t peak;
  std::uint64_t alive;
  std::size_t count;
  std::size_t parent;
  index step;
  order_segment::hash id;
};

/// A parent's steps with its peak after them.
template <class Use>
void for_each_next(const order_segment& s, const std::deque<reached>& all, std::size_t parent, Use use) {
  const auto& from = all[parent];
  for (const auto step : from.at.ready) {
    const auto cost = s.cost_of(from.at, step);
    use(candidate{std::max(from.peak, cost.during), cost.after, from.at.count + 1, parent, step,
                  s.id_after(from.at, step)});
  }
}

reached follow(const order_segment& s, const std::deque<reached>& all, const candidate& c,
               std::uint64_t limit) {
  reached next{all[c.parent].at, std::max(c.peak, limit), c.parent};
  s.run(next.at, c.step, next.trail);
  s.run_free(next.at, next.peak, next.trail);
  return next;
}

reached first_of(const order_segment& s, std::uint64_t low) {
  reached first{s.begin(), low};
  s.run_free(first.at, low, first.trail);
  return first;
}

} // namespace

// The lowest peak first, as Dijkstra's algorithm with the largest instead of the sum; of equal ones the one
// that ran most steps.
std::optional<segment_order> search_exactly(const order_segment& s, std::uint64_t low, std::size_t states) {
  std::deque<reached> all{first_of(s, low)};
  if (all.front().at.count == s.size())
    return order_to(all, 0);
  const auto later = [](const candidate& a, const candidate& b) {
    return std::tuple{a.peak, b.count, a.alive, b.parent, a.step} >
           std::tuple{b.peak, a.count, b.alive, a.parent, b.step};
  };
  std::priority_queue<candidate, std::vector<candidate>, decltype(later)> queue{later};
  std::unordered_map<order_segment::hash, std::uint64_t, hash_of_id> lowest; // of those queued
  std::unordered_set<order_segment::hash, hash_of_id> seen{all.front().at.id};
  const auto expand = [&](std::size_t parent) {
    for_each_next(s, all, parent, [&](const candidate& c) {
      const auto [at, fresh] = lowest.try_emplace(c.id, c.peak);
      if (!fresh && at->second <= c.peak)
        return;
      at->second = c.peak;
      queue.push(c);
    });
  };
  expand(0);
  auto limit = low;
  while (!queue.empty() && lowest.size() <= states) {
    const auto c = queue.top();
    queue.pop();
    if (lowest[c.id] < c.peak)
      continue;
    limit = std::max(limit, c.peak);
    auto next = follow(s, all, c, limit);
    if (!seen.insert(next.at.id).second)
      continue;
    all.push_back(std::move(next));
    if (all.back().at.count == s.size())
      return order_to(all, all.size() - 1);
    expand(all.size() - 1);
  }
  return std::nullopt;
}

std::optional<segment_order> search_in_beam(const order_segment& s, std::uint64_t limit, std::size_t width,
                                            std::size_t& work) {
  std::deque<reached> all{first_of(s, limit)};
  // By how many steps ran: what to look at, and what was already followed to there.
  std::vector<std::vector<candidate>> to_follow(s.size() + 1);
  std::vector<std::vector<std::size_t>> followed(s.size() + 1);
  followed[all.front().at.count].push_back(0);
  const auto better = [](const candidate& a, const candidate& b) {
    return std::tuple{a.alive, a.parent, a.step} < std::tuple{b.alive, b.parent, b.step};
  };
  for (std::size_t count = 0; count < s.size(); ++count) {
    auto& candidates = to_follow[count];
    const auto most = std::min(candidates.size(), 4 * width);
    std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(most),
                      candidates.end(), better);
    std::unordered_set<order_segment::hash, hash_of_id> looked_at;
    for (std::size_t i = 0; i < most && looked_at.size() < width; ++i) {
      if (!looked_at.insert(candidates[i].id).second)
        continue;
      all.push_back(follow(s, all, candidates[i], limit));
      followed[all.back().at.count].push_back(all.size() - 1);
    }
    candidates = {};
    if (count > 0)
      for (const auto i : followed[count - 1])
        all[i].at = {}; // only the way to it is still needed
    auto& here = followed[count];
    std::sort(here.begin(), here.end(), [&](std::size_t a, std::size_t b) {
      return std::tuple{all[a].at.alive, a} < std::tuple{all[b].at.alive, b};
    });
    looked_at.clear();
    for (const auto i : here) {
      if (looked_at.size() >= width)
        break;
      if (!looked_at.insert(all[i].at.id).second)
        continue;
      work += all[i].at.ready.size();
      for_each_next(s, all, i, [&](const candidate& c) {
        if (c.peak <= limit)
          to_follow[c.count].push_back(c);
      });
    }
  }
  const auto& ends = followed[s.size()];
  if (ends.empty())
    return std::nullopt;
  auto made = order_to(all, ends.front());
  made.peak = s.peak_of(made.steps);
  return made;
}

} // namespace sluice
