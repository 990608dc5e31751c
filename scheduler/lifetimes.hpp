#pragma once

#include <sluice/scheduler/step_schedule.hpp>

namespace sluice {

/// When the buffers of a graph are alive, whichever of the allowed schedules happens.
///
/// Buffers that stand in each other's bytes form one block. A block lives from the begin of the step that
/// makes its first buffer to the end of the last step that reads its last one.
class SLUICE_API lifetimes {
public:
  using index = memory_graph::index;

  struct block {
    std::uint64_t units;
    index maker;
    std::vector<index> ends; ///< when all these steps have ended it is dead
  };

  lifetimes(const memory_graph& g, const memory_links& links, const step_precedence& precedence);

  [[nodiscard]] const std::vector<block>& blocks() const noexcept { return blocks_; }
  /// The block that buffer `b` stands in; `none` if it leaves or has no bytes.
  [[nodiscard]] index block_of(index b) const noexcept { return block_of_[b]; }
  /// The buffer whose bytes buffer `b` takes over; `none` if it has fresh ones.
  [[nodiscard]] index takes_over(index b) const noexcept { return takes_over_[b]; }

  /// True if both may be alive at once. Not for a block and itself.
  [[nodiscard]] bool overlap(index a, index b) const noexcept {
    return serial_ ? begin_[a] <= end_[b] && begin_[b] <= end_[a]
                   : (overlaps_[a * words_ + b / 64] >> (b % 64) & 1) != 0;
  }

private:
  void form_blocks(const memory_graph& g, const memory_links& links, const step_precedence& precedence);
  void compare(const step_precedence& precedence);

  bool serial_;
  std::vector<block> blocks_;
  std::vector<index> block_of_;   // by buffer
  std::vector<index> takes_over_; // by buffer
  std::vector<index> begin_;      // by block, if serial
  std::vector<index> end_;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> overlaps_; // by block a set of blocks, unless serial
};

/// The least units that an arena for all allowed schedules can have: the weight of the heaviest set of blocks
/// any two of which may be alive at once. If steps run one at a time, their peak.
[[nodiscard]] SLUICE_API std::uint64_t least_units(const lifetimes& l, const step_precedence& precedence);

} // namespace sluice
