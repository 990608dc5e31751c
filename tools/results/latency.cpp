#include <tools/results/latency.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice::tools {

latency_statistics statistics_of(std::vector<double> times) {
  if (times.empty())
    return {};
  std::sort(times.begin(), times.end());
  const auto n = static_cast<double>(times.size());
  const auto percentile = [&](double p) {
    return times[static_cast<std::size_t>(std::max(0.0, std::ceil(p / 100 * n) - 1))];
  };
  return {.mean = std::accumulate(times.begin(), times.end(), 0.0) / n,
          .least = times.front(),
          .greatest = times.back(),
          .p50 = percentile(50),
          .p90 = percentile(90),
          .p95 = percentile(95),
          .p99 = percentile(99)};
}

} // namespace sluice::tools
