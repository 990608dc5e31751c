#include <sluice/scheduler/lane_simulation.hpp>

#include <algorithm>

namespace sluice {

namespace {

using index = memory_graph::index;
constexpr auto none = memory_graph::none;

class simulation {
public:
  simulation(const memory_graph& g, const memory_links& links, unsigned lanes, std::uint64_t limit,
             std::span<const double> rank, std::span<const double> fallback)
    : graph_(g), links_(links), limit_(limit), rank_(rank), fallback_(fallback), lanes_(lanes) {
    made_.schedule.lanes.resize(lanes);
    for (const auto& r : links.readers)
      readers_left_.push_back(r.size());
    for (index s = 0; s < links.before.size(); ++s) {
      missing_.push_back(links.before[s].size());
      if (links.before[s].empty())
        ready_.push_back(s);
    }
  }

  simulated_lanes run() {
    for (std::size_t ended = 0; ended < graph_.steps.size(); ++ended) {
      while (begin_one()) {
      }
      const auto next = std::min_element(lanes_.begin(), lanes_.end(), [](const lane& a, const lane& b) {
        return a.running != none && (b.running == none || a.end < b.end);
      });
      now_ = next->end;
      end(*next);
    }
    made_.schedule.ns = now_;
    return std::move(made_);
  }

private:
  struct lane {
    index running = none;
    index last = none; // of those that ended
    double end = 0;
    std::uint64_t handed_over = 0;   // units of what it makes in the bytes of what it reads
    std::vector<index> waited_for{}; // by lane: the last one that a step here waited for
  };

  [[nodiscard]] bool last_reader(index s, index b) const {
    return readers_left_[b] == 1 && std::binary_search(links_.readers[b].begin(), links_.readers[b].end(), s);
  }

  /// Units of the outputs that will stand in the bytes of inputs, as lifetimes choose them.
  [[nodiscard]] std::uint64_t handed_over(index s) const {
    std::vector<memory_graph::in_place_pair> chosen;
    std::uint64_t units = 0;
    for (const auto& pair : graph_.steps[s].in_place)
      if (links_.units[pair.made] != 0 && links_.units[pair.made] == links_.units[pair.read] &&
          last_reader(s, pair.read) && std::none_of(chosen.begin(), chosen.end(), [&](const auto& c) {
            return c.made == pair.made || c.read == pair.read;
          })) {
        chosen.push_back(pair);
        units += links_.units[pair.made];
      }
    return units;
  }

  [[nodiscard]] std::uint64_t made_units(index s) const {
    std::uint64_t units = 0;
    for (const auto b : graph_.steps[s].makes)
      units += links_.units[b];
    return units;
  }

  bool begin_one() {
    const auto busy =
        std::any_of(lanes_.begin(), lanes_.end(), [](const lane& l) { return l.running != none; });
    if (ready_.empty() ||
        std::none_of(lanes_.begin(), lanes_.end(), [](const lane& l) { return l.running == none; }))
      return false;
    auto best = none;
    for (const auto s : ready_)
      if ((best == none || rank_[s] < rank_[best]) && alive_ + made_units(s) - handed_over(s) <= limit_)
        best = s;
    if (best == none && !busy)
      best = *std::min_element(ready_.begin(), ready_.end(),
                               [&](index a, index b) { return fallback_[a] < fallback_[b]; });
    if (best == none)
      return false;
    begin(best);
    return true;
  }

  void begin(index s) {
    ready_.erase(std::find(ready_.begin(), ready_.end(), s));
    // Best where the last step is one that this one waits for anyway.
    lane* chosen = nullptr;
    for (auto& l : lanes_)
      if (l.running == none && (!chosen || (l.last != none && waits_for(s, l.last) &&
                                            (chosen->last == none || !waits_for(s, chosen->last)))))
        chosen = &l;
    chosen->waited_for.resize(lanes_.size(), none);
    for (std::size_t other = 0; other < lanes_.size(); ++other) {
      const auto last = lanes_[other].last;
      if (&lanes_[other] == chosen || last == none || chosen->waited_for[other] == last)
        continue;
      chosen->waited_for[other] = last;
      if (!waits_for(s, last))
        made_.schedule.waits.emplace_back(last, s);
    }
    chosen->running = s;
    chosen->end = now_ + graph_.steps[s].ns;
    made_.schedule.lanes[static_cast<std::size_t>(chosen - lanes_.data())].push_back(s);
    chosen->handed_over = handed_over(s);
    alive_ += made_units(s) - chosen->handed_over;
    made_.peak = std::max(made_.peak, alive_);
  }

  [[nodiscard]] bool waits_for(index s, index other) const {
    return std::binary_search(links_.before[s].begin(), links_.before[s].end(), other);
  }

  void end(lane& l) {
    const auto s = l.running;
    l.last = s;
    l.running = none;
    alive_ += l.handed_over; // counted once while both were alive
    for (const auto b : graph_.steps[s].makes)
      if (readers_left_[b] == 0)
        alive_ -= links_.units[b];
    auto reads = graph_.steps[s].reads;
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    for (const auto b : reads)
      if (--readers_left_[b] == 0)
        alive_ -= links_.units[b];
    for (const auto a : links_.after[s])
      if (--missing_[a] == 0)
        ready_.push_back(a);
  }

  const memory_graph& graph_;
  const memory_links& links_;
  const std::uint64_t limit_;
  const std::span<const double> rank_;
  const std::span<const double> fallback_;
  std::vector<lane> lanes_;
  std::vector<std::size_t> readers_left_;
  std::vector<std::size_t> missing_;
  std::vector<index> ready_;
  std::uint64_t alive_ = 0;
  double now_ = 0;
  simulated_lanes made_;
};

} // namespace

simulated_lanes simulate_lanes(const memory_graph& g, const memory_links& links, unsigned lanes,
                               std::uint64_t limit, std::span<const double> rank,
                               std::span<const double> fallback) {
  return simulation{g, links, lanes, limit, rank, fallback}.run();
}

} // namespace sluice
