#pragma once

#include <vector>

namespace sluice::tools {

/// What many measured times say, in the unit in which they were given.
struct latency_statistics {
  double mean = 0, least = 0, greatest = 0;
  double p50 = 0, p90 = 0, p95 = 0, p99 = 0;
};

/// The percentile is the smallest time that at least so many percent do not exceed. All zeros for no times.
[[nodiscard]] latency_statistics statistics_of(std::vector<double> times);

} // namespace sluice::tools
