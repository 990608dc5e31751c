#pragma once

#include <sluice/scheduler/memory_graph.hpp>
#include <sluice/scheduler/serial_order.hpp>

#include <array>
#include <optional>
#include <vector>

namespace sluice {

/// The part of a graph whose order is looked for: all steps before it have run, none of those after it.
///
/// What is in memory depends on the set of steps that have run alone, not on their order.
class order_segment {
public:
  using index = memory_graph::index;
  using hash = std::array<std::uint64_t, 2>;

  /// A set of steps that have run.
  struct state {
    std::vector<std::uint64_t> ran; ///< bits by step of the segment
    std::vector<index> ready;
    std::uint64_t alive = 0; ///< units
    std::size_t count = 0;   ///< of `ran`
    hash id{};
  };
  /// What a step takes if it runs next, in units.
  struct cost {
    std::uint64_t during;
    std::uint64_t after;
  };

  /// The steps from `first` on, before which `alive` units are in memory. `links` outlive the segment.
  order_segment(const memory_graph& g, const memory_links& links, index first, index count,
                std::uint64_t alive);

  [[nodiscard]] index first() const noexcept { return first_; } ///< step 0 of the segment in the graph
  [[nodiscard]] std::size_t size() const noexcept { return local_.size(); }
  [[nodiscard]] state begin() const;
  [[nodiscard]] cost cost_of(const state& s, index step) const;
  /// The id of `s` after `step`.
  [[nodiscard]] hash id_after(const state& s, index step) const;
  void run(state& s, index step, std::vector<index>& trail) const;
  /// Runs all steps that take no more than `limit` and leave no more in memory than there is: later they
  /// would leave no less, and all others do at least as well after them.
  void run_free(state& s, std::uint64_t limit, std::vector<index>& trail) const;

  /// The peak of an order of all steps.
  [[nodiscard]] std::uint64_t peak_of(const std::vector<index>& order) const;

private:
  struct local_step {
    std::vector<index> before; // in the segment
    std::vector<index> after;
    std::vector<index> reads; // with bytes
    std::vector<memory_graph::in_place_pair> in_place;
    std::uint64_t makes = 0;   // units
    std::uint64_t retains = 0; // of these, what is read later
    hash key{};
  };

  [[nodiscard]] static bool has(const state& s, index step) noexcept {
    return (s.ran[step / 64] >> (step % 64) & 1) != 0;
  }
  [[nodiscard]] bool last_reader(const state& s, index buffer, index step) const;

  const memory_links& links_;
  const index first_;
  std::vector<local_step> local_;
  std::uint64_t alive_;
};

/// An order of a segment and its peak in units.
struct segment_order {
  std::vector<memory_graph::index> steps; ///< in the segment
  std::uint64_t peak = 0;
};

/// An order with the lowest peak, or one with a peak of at most `low`, if there is one; nullopt if more than
/// `states` sets had to be looked at.
[[nodiscard]] std::optional<segment_order> search_exactly(const order_segment& s, std::uint64_t low,
                                                          std::size_t states);

/// An order with a peak of at most `limit`, by following the `width` sets with the least in memory at a time;
/// nullopt if that finds none. Adds to `work` how many steps were weighed.
[[nodiscard]] std::optional<segment_order> search_in_beam(const order_segment& s, std::uint64_t limit,
                                                          std::size_t width, std::size_t& work);

/// Improves an order of all steps of `g` by exact searches in windows around its highest peak, at most so
/// many times, until none helps or the peak is `low`. Returns the peak in units.
[[nodiscard]] std::uint64_t improve_in_windows(const memory_graph& g, std::vector<memory_graph::index>& order,
                                               std::uint64_t low, std::size_t rounds);

} // namespace sluice
