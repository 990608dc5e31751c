#pragma once

#include <sluice/scheduler/batch_axes.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice {

/// Bytes that a frame of `p` needs on the host, as planned: its arena, and values and results beside it. Fed
/// values are not counted.
[[nodiscard]] SLUICE_API std::uint64_t frame_need(const plan& p);

/// Bytes of packed constants in the kernels of `p`.
[[nodiscard]] SLUICE_API std::uint64_t packed_need(const plan& p);

/// The title of a node whose rows have other bits in a batch of another size; empty if there is none: cutting
/// and joining then changes no bit.
[[nodiscard]] SLUICE_API std::string batch_variant_node(const plan& p);

/// `whole` for another number of items.
[[nodiscard]] SLUICE_API plan_request request_for_items(const plan_request& whole, const batch_axes& axes,
                                                        std::int64_t items);

/// Bytes of a frame as a function of its items, a straight line.
struct batch_bytes {
  double fixed = 0;
  double per_item = 0;

  [[nodiscard]] std::uint64_t at(std::int64_t items) const noexcept;
  /// The most items that take at most `bytes`; 0 if none do.
  [[nodiscard]] std::int64_t most_items(std::uint64_t bytes) const noexcept;
};

/// The line through what two sizes need; it never falls.
[[nodiscard]] SLUICE_API batch_bytes line_through(std::int64_t items_a, std::uint64_t bytes_a,
                                                  std::int64_t items_b, std::uint64_t bytes_b) noexcept;

/// What a split is decided from.
struct split_problem {
  std::int64_t items = 0;      ///< of the request
  std::uint64_t bytes = 0;     ///< that its parts may have together
  std::uint32_t in_flight = 1; ///< parts that should run at once
  batch_bytes need;            ///< of one part
  double item_ns = 0;          ///< estimated time of one item; 0 if it is not known
};

/// How a request is cut.
struct batch_split {
  std::uint32_t in_flight = 0;         ///< parts at once; 0: not even one item fits
  std::int64_t items = 0;              ///< of a part: the size with the least predicted time per item
  std::vector<std::int64_t> worth_try; ///< sizes near it, ascending, `items` among them; all of them fit
};

/// Chooses the size of the parts. Small parts pay for being started, large ones for memory that no cache
/// holds and that comes fresh from the system each time, so the largest that fits is rarely the best.
[[nodiscard]] SLUICE_API batch_split choose_split(const split_problem& p);

/// The time per item that choose_split() expects of parts of `items`.
[[nodiscard]] SLUICE_API double predicted_ns_per_item(const split_problem& p, std::int64_t items) noexcept;

/// Corrects a split by what its first parts took: tries neighbours of the best size until none is better.
class SLUICE_API split_search {
public:
  explicit split_search(batch_split start);

  /// The size to measure now, or, if settled(), to keep.
  [[nodiscard]] std::int64_t items() const noexcept { return sizes_[now_]; }
  [[nodiscard]] bool settled() const noexcept { return settled_; }
  /// Tells what parts of items() took.
  void measured(double ns_per_item);
  /// Ends the search with the best size so far.
  void settle();
  /// Sizes above `items` do not fit, as it turned out.
  void forbid_above(std::int64_t items);
  /// By size: ns per item, as measured.
  [[nodiscard]] const std::map<std::int64_t, double>& times() const noexcept { return times_; }

private:
  [[nodiscard]] std::size_t best() const;
  [[nodiscard]] bool known(std::size_t i) const { return times_.contains(sizes_[i]); }

  std::vector<std::int64_t> sizes_;
  std::size_t now_ = 0;
  bool warm_ = false; // the first measurement pays for what is done once, and is repeated
  bool settled_ = false;
  std::map<std::int64_t, double> times_;
};

} // namespace sluice
