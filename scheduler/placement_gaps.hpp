#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace sluice {

/// When one lane or copy engine is busy, so that something short can go into a gap. Internal to `scheduler/`.
class placement_gaps {
public:
  void clear() noexcept { busy_.clear(); }

  /// The earliest start from `from` on at which it is free for `length`.
  /// Adds what it looked at to `looks`.
  [[nodiscard]] double find(double from, double length, std::size_t& looks) const noexcept {
    auto start = from;
    for (auto b = after(from); b != busy_.end() && start + length > b->first; ++b, ++looks)
      start = std::max(start, b->second);
    return start;
  }

  /// Adds what it moved to `looks`, eight at a time.
  void take(double start, double length, std::size_t& looks) {
    if (length <= 0)
      return;
    const auto at = after(start);
    looks += static_cast<std::size_t>(busy_.end() - at) / 8;
    busy_.insert(at, {start, start + length});
  }

private:
  /// The first stretch that ends after `at`.
  [[nodiscard]] std::vector<std::pair<double, double>>::const_iterator after(double at) const noexcept {
    return std::upper_bound(busy_.begin(), busy_.end(), at,
                            [](double a, const auto& b) { return a < b.second; });
  }

  std::vector<std::pair<double, double>> busy_; // apart from each other, by time
};

} // namespace sluice
