#include <sluice/devices/cpu_threads.hpp>

#include <sluice/devices/control_groups.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sched.h>
#include <string>
#include <thread>

namespace sluice {

namespace {

unsigned affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return cpu_threads::max_budget; // more CPUs than the set has room for
  return static_cast<unsigned>(CPU_COUNT(&set));
}

// Quotas in CPUs; a quota of zero is none. Version 2: cpu.max holds "QUOTA PERIOD" or "max PERIOD".
double quota_v2(const std::string& folder) {
  double quota = -1, period = 0;
  std::ifstream file{folder + "/cpu.max"};
  return file >> quota >> period && period > 0 && quota > 0 ? quota / period : -1;
}

// Version 1: two files; no quota is -1.
double quota_v1(const std::string& folder) {
  double quota = -1, period = 0;
  std::ifstream quota_file{folder + "/cpu.cfs_quota_us"}, period_file{folder + "/cpu.cfs_period_us"};
  return quota_file >> quota && period_file >> period && period > 0 && quota > 0 ? quota / period : -1;
}

} // namespace

unsigned usable_cpus() {
  const auto hardware = std::max(1U, std::thread::hardware_concurrency());
  const auto quota = std::min<double>(cpu_threads::max_budget, least_group_limit("cpu", quota_v1, quota_v2));
  return std::max(
      1U, std::min({hardware, affinity(), static_cast<unsigned>(std::ceil(quota)), cpu_threads::max_budget}));
}

} // namespace sluice
