#include <sluice/scheduler/placement.hpp>
#include <sluice/scheduler/placement_cuts.hpp>
#include <sluice/scheduler/placement_search.hpp>
#include <sluice/scheduler/placement_shortage.hpp>
#include <sluice/scheduler/placement_starts.hpp>

#include <algorithm>
#include <cmath>

namespace sluice {

namespace {

class placer {
public:
  placer(const placement_problem& problem, const placement_options& options)
    : problem_(problem), effort_(options.effort), units_(placement_units::make(problem, options.strict)),
      timeline_(problem), archive_(options.slack), search_(problem, units_, timeline_, archive_),
      by_rank_(order_by_rank(problem, units_, timeline_)), by_depth_(order_by_depth(problem, timeline_)) {}

  std::variant<placement, placement_shortage> run() {
    try_starts();
    try_cuts();
    stages_.push_back(archive_.fastest());
    if (!problem_.steps.empty()) {
      const auto work = (effort_ - std::min(effort_, timeline_.work())) / 2;
      improve_starts(work / 2);
      search_.improve(archive_.fastest(), placement_search::goal::earlier, work / 2);
      stages_.push_back(archive_.fastest());
      if (archive_.fastest().fits()) {
        save_bytes(work);
        stages_.push_back(archive_.frugal());
      }
    }
    const auto& chosen = archive_.frugal();
    placement made;
    made.places = chosen.places;
    timeline_.lay_out(chosen.places, chosen.order, &made.schedule);
    if (!chosen.fits())
      return find_shortage(problem_, made.places, made.schedule);
    record_revisions();
    made.decisions = std::move(units_.decisions);
    return made;
  }

private:
  placement_candidate try_start(const std::vector<std::uint32_t>& where) {
    placement_candidate best;
    for (const auto* order : {&by_rank_, &by_depth_}) {
      placement_candidate c{where, *order, timeline_.lay_out(where, *order)};
      archive_.add(c);
      if (best.places.empty() || c.score.excess_bytes < best.score.excess_bytes ||
          (c.score.excess_bytes == best.score.excess_bytes && c.score.finish_ns < best.score.finish_ns))
        best = std::move(c);
    }
    starts_.push_back(best);
    return best;
  }

  /// What is best after a search need not be best before it: the best starts share the effort.
  void improve_starts(std::size_t work) {
    constexpr std::size_t most = 6;
    std::stable_sort(starts_.begin(), starts_.end(), [](const auto& a, const auto& b) {
      return std::pair{a.score.excess_bytes, a.score.finish_ns} <
             std::pair{b.score.excess_bytes, b.score.finish_ns};
    });
    const auto same = [](const auto& a, const auto& b) { return a.places == b.places; };
    starts_.erase(std::unique(starts_.begin(), starts_.end(), same), starts_.end());
    const auto count = std::min(most, starts_.size());
    for (std::size_t i = 0; i < count; ++i)
      search_.improve(starts_[i], placement_search::goal::earlier, work / count);
  }

  /// From the fastest, and from starts that are a little late but move little: fewer bytes may be near them.
  void save_bytes(std::size_t work) {
    constexpr std::size_t most = 3;
    constexpr double late = 1.08;
    std::erase_if(starts_, [&](const auto& c) {
      return !c.fits() || c.score.finish_ns > late * archive_.fastest().score.finish_ns ||
             c.score.link_bytes >= archive_.frugal().score.link_bytes;
    });
    std::stable_sort(starts_.begin(), starts_.end(),
                     [](const auto& a, const auto& b) { return a.score.link_bytes < b.score.link_bytes; });
    const auto count = std::min(most, starts_.size());
    for (std::size_t i = 0; i < count; ++i)
      search_.improve(starts_[i], placement_search::goal::fewer_bytes, work / (count + 2));
    search_.improve(archive_.frugal(), placement_search::goal::fewer_bytes, 2 * work / (count + 2));
  }

  void try_starts() {
    stages_.push_back(try_start(place_greedily(problem_, units_, timeline_, by_rank_, 0, &units_.decisions)));
    if (!stages_.back().fits())
      for (const auto reserve : {0.25, 0.5, 0.75})
        static_cast<void>(
            try_start(place_greedily(problem_, units_, timeline_, by_depth_, reserve, nullptr)));
    for (std::uint32_t d = 0; d < problem_.devices.size(); ++d)
      if (const auto single = try_start(place_on_one(problem_, units_, d)); single.fits())
        archive_.bound(single.score.finish_ns);
  }

  /// Cuts between the first device and each other one.
  void try_cuts() {
    for (std::uint32_t d = 1; d < problem_.devices.size(); ++d) {
      for (const auto price : is_large() ? std::vector{1.0} : std::vector{0.1, 0.3, 1.0, 3.0})
        static_cast<void>(try_start(place_by_cut(problem_, units_, timeline_, 0, d, {.time = price})));
      if (static_cast<double>(problem_.devices[d].budget) < all_bytes())
        try_tight_cuts(d);
    }
  }

  /// Cuts for a device that cannot hold everything. Its memory is parted between weights and what one step
  /// holds: steps that hold more stay away, and weights get the lowest price at which they fit, or nearly.
  void try_tight_cuts(std::uint32_t d) {
    // Of a byte of values against one of weights, and of time against transfers.
    const auto weights =
        is_large() ? std::vector<std::pair<double, double>>{{0.0, 1.0}, {0.3, 1.0}}
                   : std::vector<std::pair<double, double>>{{0.0, 1.0}, {0.3, 1.0}, {0.0, 0.3}, {0.0, 0.1}};
    for (const auto part : parts_for_a_step())
      for (const auto& [share, time] : weights) {
        auto low = 0.0; // in powers of ten around what a byte is worth on average
        auto prices = placement_prices{.time = time,
                                       .most_bytes = part * static_cast<double>(problem_.devices[d].budget)};
        const auto worth = all_time() / all_bytes();
        auto cheap = -2.0, dear = 3.0;
        for (auto trial = 0; trial < (is_large() ? 5 : 8); ++trial) {
          low = (cheap + dear) / 2;
          prices.weight_byte = time * worth * std::pow(10, low);
          prices.value_byte = share * prices.weight_byte;
          const auto made = try_start(place_by_cut(problem_, units_, timeline_, 0, d, prices));
          (made.fits() ? dear : cheap) = low;
        }
      }
  }

  /// Parts of a budget that a step may hold.
  [[nodiscard]] std::vector<double> parts_for_a_step() const {
    if (is_large())
      return {0.5, 0.15};
    if (problem_.steps.size() > 200)
      return {0.9, 0.6, 0.4, 0.25, 0.12, 0.05};
    return {0.95, 0.8, 0.65, 0.5, 0.4, 0.32, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03};
  }

  /// A large graph gets few cuts: one costs more than a layout.
  [[nodiscard]] bool is_large() const { return problem_.steps.size() > 1000; }

  [[nodiscard]] double all_bytes() const {
    auto bytes = 1.0;
    for (const auto& c : problem_.constants)
      bytes += static_cast<double>(c.bytes);
    for (const auto& v : problem_.values)
      bytes += static_cast<double>(v.bytes);
    return bytes;
  }

  [[nodiscard]] double all_time() const {
    auto time = 0.0;
    for (const auto& unit : units_.units)
      if (unit.allowed.size() > 1)
        for (const auto s : unit.steps)
          time += problem_.steps[s].time_ns[unit.allowed.front()];
    return time;
  }

  void record_revisions() {
    for (std::size_t i = 1; i < stages_.size(); ++i) {
      const auto& before = stages_[i - 1];
      const auto& after = stages_[i];
      for (std::size_t s = 0; s < problem_.steps.size(); ++s)
        if (before.places[s] != after.places[s])
          units_.decisions[s].revisions.push_back(
              {before.places[s], before.score.finish_ns, after.score.finish_ns,
               static_cast<std::size_t>(before.score.link_bytes),
               static_cast<std::size_t>(after.score.link_bytes), before.fits()});
    }
  }

  const placement_problem& problem_;
  const std::size_t effort_;
  placement_units units_;
  placement_timeline timeline_;
  placement_archive archive_;
  placement_search search_;
  const std::vector<std::uint32_t> by_rank_;
  const std::vector<std::uint32_t> by_depth_;
  std::vector<placement_candidate> starts_;
  std::vector<placement_candidate> stages_; // list scheduling, the best start, after each search
};

} // namespace

std::variant<placement, placement_shortage> place(const placement_problem& problem,
                                                  const placement_options& options) {
  problem.check();
  return placer{problem, options}.run();
}

} // namespace sluice
