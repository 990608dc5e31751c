#pragma once

#include <sluice/scheduler/placement_timeline.hpp>
#include <sluice/scheduler/placement_units.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

/// Places and an order of steps, with what their layout scored.
struct placement_candidate {
  std::vector<std::uint32_t> places;
  std::vector<std::uint32_t> order;
  placement_timeline::score score;

  [[nodiscard]] bool fits() const noexcept { return score.excess_bytes == 0; }
};

/// The candidates worth keeping: the fastest that fits, and those at most `slack` slower with fewer bytes
/// over the links; as long as nothing fits, the nearest to it. Internal to `scheduler/`.
class placement_archive {
public:
  explicit placement_archive(double slack) : slack_(slack) {}

  void add(const placement_candidate& c);
  /// A finish time that no answer may be later than, whatever the slack: that of the best single device.
  void bound(double finish_ns) { bound_ = std::min(bound_, finish_ns); }

  /// The latest finish that an answer may have.
  [[nodiscard]] double limit() const;
  [[nodiscard]] const placement_candidate& fastest() const { return kept_.front(); }
  /// The one with the fewest bytes within the limit.
  [[nodiscard]] const placement_candidate& frugal() const;

private:
  const double slack_;
  double bound_ = placement_problem::no_kernel;
  std::vector<placement_candidate> kept_; // by finish; each has fewer bytes than those before it
};

/// Improves candidates by changing places of units, of connected clusters and of stretches of the order, and
/// the order itself: simulated annealing from a fixed seed. Internal to `scheduler/`.
class placement_search {
public:
  placement_search(const placement_problem& problem, const placement_units& units,
                   placement_timeline& timeline, placement_archive& archive);

  enum class goal { earlier, fewer_bytes };

  /// Tries changes until the timeline has done `work` more, beginning with `from`; what is worth keeping goes
  /// into the archive.
  void improve(placement_candidate from, goal g, std::size_t work);

private:
  struct scale {
    double finish;
    double bytes;
    double limit;
  };

  [[nodiscard]] std::uint64_t random(std::uint64_t below);
  [[nodiscard]] double random_unit();
  [[nodiscard]] double energy(const placement_timeline::score& s, goal g, const scale& by) const;
  [[nodiscard]] bool change(placement_candidate& c);
  [[nodiscard]] bool move(placement_candidate& c, std::uint32_t unit, std::uint32_t device) const;
  [[nodiscard]] std::uint32_t other_device(const placement_candidate& c, std::uint32_t unit);
  [[nodiscard]] std::uint32_t any_movable();
  [[nodiscard]] bool move_one(placement_candidate& c);
  [[nodiscard]] bool move_cluster(placement_candidate& c);
  [[nodiscard]] bool move_stretch(placement_candidate& c);
  [[nodiscard]] bool swap_clusters(placement_candidate& c);
  void move_around(placement_candidate& c, std::uint32_t first, std::uint32_t to, std::size_t size);
  [[nodiscard]] std::size_t any_size(std::size_t least);
  [[nodiscard]] bool shift_turn(placement_candidate& c);
  [[nodiscard]] bool on_border(const placement_candidate& c, std::uint32_t unit) const;

  const placement_units& units_;
  placement_timeline& timeline_;
  placement_archive& archive_;
  std::vector<std::uint32_t> movable_;                 // units with a choice
  std::vector<std::vector<std::uint32_t>> next_steps_; // by step: before and after it in the graph
  std::vector<std::vector<std::uint32_t>> next_units_; // by unit
  double all_bytes_ = 1;
  std::uint64_t state_ = 0x9e3779b97f4a7c15U;
  std::vector<std::uint32_t> turn_; // by step, of the candidate in work
  std::vector<std::uint32_t> queue_;
  std::vector<char> seen_; // by unit
};

} // namespace sluice
