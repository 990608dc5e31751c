#pragma once

#include <sluice/scheduler/memory_graph.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {

/// Which schedules of a memory graph may happen: those that keep its data dependencies, the order in each
/// lane, and the waits. Without lanes and waits: all that the data dependencies allow.
struct step_schedule {
  using index = memory_graph::index;

  /// The steps of each lane, in their order; each step in one. One lane: one step at a time.
  std::vector<std::vector<index>> lanes;
  std::vector<std::pair<index, index>> waits; ///< (first, then): `first` has ended when `then` begins
  double ns = 0; ///< estimated time of all, if each step takes its own; 0 where it is not known
};

/// Every schedule that the data dependencies allow.
[[nodiscard]] inline step_schedule unrestricted_order() {
  return {};
}

/// One step at a time, as `g` lists them.
[[nodiscard]] SLUICE_API step_schedule listed_order(const memory_graph& g);

/// Which steps have ended in every allowed schedule when another begins. A partial order.
class SLUICE_API step_precedence {
public:
  using index = memory_graph::index;

  /// Throws errc::invalid_argument if lanes or waits contradict the data dependencies or name a step twice
  /// or not at all, errc::unsupported for more than `most_steps` steps that are not in one lane.
  step_precedence(const memory_links& links, const step_schedule& allowed);

  /// The relation takes n² bits; a larger graph can be planned in one lane.
  static constexpr std::size_t most_steps = 32'768;

  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
  /// True if `a` has always ended when `b` begins.
  [[nodiscard]] bool before(index a, index b) const noexcept {
    return serial_ ? position_[a] < position_[b] : (row(b)[a / 64] >> (a % 64) & 1) != 0;
  }
  /// Whether steps run one at a time.
  [[nodiscard]] bool serial() const noexcept { return serial_; }
  /// One of the allowed orders; the only one if serial().
  [[nodiscard]] const std::vector<index>& order() const noexcept { return order_; }
  /// The place of a step in order().
  [[nodiscard]] index position(index s) const noexcept { return position_[s]; }
  /// By step: those that it directly waits for.
  [[nodiscard]] const std::vector<std::vector<index>>& direct() const noexcept { return direct_; }

private:
  [[nodiscard]] const std::uint64_t* row(index s) const noexcept { return bits_.data() + s * words_; }
  void add_lanes(const step_schedule& allowed);
  void sort();
  void close();

  bool serial_ = false;
  std::vector<std::vector<index>> direct_;
  std::vector<index> order_;
  std::vector<index> position_;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> bits_; // by step: the set of those before it; empty if serial
};

} // namespace sluice
