#pragma once

#include <string>
#include <vector>

namespace demo {

/// How long each item of a stream took, and all of them.
struct measured {
  std::vector<double> microseconds; ///< an item, from when it was sent until its result was there
  double seconds = 0;               ///< from the first item to the last result
};

/// One line: how many items, how many a second, latency at the 50th, 90th and 99th percentile. `unit` is what
/// one item is called, in the plural.
[[nodiscard]] std::string describe(measured m, const std::string& unit);

} // namespace demo
