#include <sluice/scheduler/step_schedule.hpp>

#include <sluice/graph/error.hpp>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <string>

namespace sluice {

step_schedule listed_order(const memory_graph& g) {
  step_schedule made;
  made.lanes.emplace_back(g.steps.size());
  std::iota(made.lanes[0].begin(), made.lanes[0].end(), memory_graph::index{0});
  for (const auto& s : g.steps)
    made.ns += s.ns;
  return made;
}

step_precedence::step_precedence(const memory_links& links, const step_schedule& allowed)
  : serial_(allowed.lanes.size() == 1), direct_(links.before) {
  if (!serial_ && direct_.size() > most_steps)
    throw error{errc::unsupported,
                std::to_string(direct_.size()) +
                    " steps are too many for a memory plan of several branches: order them"};
  add_lanes(allowed);
  sort();
  if (!serial_)
    close();
}

void step_precedence::add_lanes(const step_schedule& allowed) {
  const auto n = direct_.size();
  std::vector<bool> seen(n, false);
  std::size_t in_lanes = 0;
  for (const auto& lane : allowed.lanes)
    for (std::size_t i = 0; i < lane.size(); ++i, ++in_lanes) {
      if (lane[i] >= n || seen[lane[i]])
        throw error{errc::invalid_argument, "the lanes of a schedule name step " + std::to_string(lane[i]) +
                                                (lane[i] < n ? " twice" : ", which is not there")};
      seen[lane[i]] = true;
      if (i > 0)
        direct_[lane[i]].push_back(lane[i - 1]);
    }
  if (!allowed.lanes.empty() && in_lanes != n)
    throw error{errc::invalid_argument, "the lanes of a schedule leave out steps"};
  for (const auto& [first, then] : allowed.waits) {
    if (first >= n || then >= n)
      throw error{errc::invalid_argument, "a schedule waits for a step that is not there"};
    direct_[then].push_back(first);
  }
}

/// Puts the steps in an order that keeps all, of those possible the one nearest to the listed order.
void step_precedence::sort() {
  const auto n = direct_.size();
  std::vector<std::vector<index>> after(n);
  std::vector<index> missing(n, 0);
  for (index s = 0; s < n; ++s)
    for (const auto b : direct_[s]) {
      after[b].push_back(s);
      ++missing[s];
    }
  std::priority_queue<index, std::vector<index>, std::greater<>> ready;
  for (index s = 0; s < n; ++s)
    if (missing[s] == 0)
      ready.push(s);
  position_.assign(n, 0);
  while (!ready.empty()) {
    const auto s = ready.top();
    ready.pop();
    position_[s] = static_cast<index>(order_.size());
    order_.push_back(s);
    for (const auto a : after[s])
      if (--missing[a] == 0)
        ready.push(a);
  }
  if (order_.size() != n)
    throw error{errc::invalid_argument, "a schedule contradicts the data dependencies"};
}

void step_precedence::close() {
  words_ = (direct_.size() + 63) / 64;
  bits_.assign(direct_.size() * words_, 0);
  for (const auto s : order_) {
    auto* const own = bits_.data() + s * words_;
    for (const auto b : direct_[s]) {
      const auto* const others = row(b);
      for (std::size_t w = 0; w < words_; ++w)
        own[w] |= others[w];
      own[b / 64] |= std::uint64_t{1} << (b % 64);
    }
  }
}

} // namespace sluice
