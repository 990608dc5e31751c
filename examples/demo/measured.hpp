#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace demo {

/// So many items at the end of a stream are traced: enough to look at, and small enough for a viewer.
inline constexpr std::size_t traced_items = 100;
[[nodiscard]] constexpr bool trace_begins(std::size_t item, std::size_t total) noexcept {
  return item == (total > traced_items ? total - traced_items : 0);
}

/// How long each item of a stream took, and all of them.
struct measured {
  std::vector<double> microseconds; ///< an item, from when it was sent until its result was there
  double seconds = 0;               ///< from the first item to the last result
};

/// One line: how many items, how many a second, latency at the 50th, 90th and 99th percentile. `unit` is what
/// one item is called, in the plural.
[[nodiscard]] std::string describe(measured m, const std::string& unit);

} // namespace demo
