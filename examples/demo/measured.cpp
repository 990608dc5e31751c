#include "measured.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <sstream>

namespace demo {

namespace {

/// The smallest of the sorted times that at least so many percent do not exceed.
double percentile(const std::vector<double>& sorted, double percent) {
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

} // namespace

std::string describe(measured m, const std::string& unit) {
  if (m.microseconds.empty())
    return "no " + unit;
  std::sort(m.microseconds.begin(), m.microseconds.end());
  std::ostringstream out;
  out << m.microseconds.size() << ' ' << unit << " in " << std::fixed << std::setprecision(2) << m.seconds
      << " s: " << std::setprecision(0) << static_cast<double>(m.microseconds.size()) / m.seconds << ' '
      << unit << "/s, latency p50 " << percentile(m.microseconds, 50) << " µs, p90 "
      << percentile(m.microseconds, 90) << " µs, p99 " << percentile(m.microseconds, 99) << " µs";
  return out.str();
}

} // namespace demo
