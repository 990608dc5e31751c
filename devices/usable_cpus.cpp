#include <sluice/devices/cpu_threads.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sched.h>
#include <sstream>
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

/// Least quota in CPUs along a control group's path; `file(folder)` gives the quota of one, or a negative number.
template <class QuotaOf>
double least_quota(const std::string& root, std::string path, QuotaOf quota_of) {
  double least = cpu_threads::max_budget;
  for (;;) {
    if (const auto quota = quota_of(root + path); quota > 0)
      least = std::min(least, quota);
    if (path.empty() || path == "/")
      return least;
    path.erase(path.find_last_of('/'));
  }
}

// Version 2: cpu.max holds "QUOTA PERIOD" or "max PERIOD".
double quota_v2(const std::string& folder) {
  double quota = -1, period = 0;
  std::ifstream file{folder + "/cpu.max"};
  return file >> quota >> period && period > 0 ? quota / period : -1;
}

// Version 1: two files; no quota is -1.
double quota_v1(const std::string& folder) {
  double quota = -1, period = 0;
  std::ifstream quota_file{folder + "/cpu.cfs_quota_us"}, period_file{folder + "/cpu.cfs_period_us"};
  return quota_file >> quota && period_file >> period && period > 0 ? quota / period : -1;
}

bool names_cpu(const std::string& controllers) {
  std::istringstream names{controllers};
  for (std::string name; std::getline(names, name, ',');)
    if (name == "cpu")
      return true;
  return false;
}

double control_group_quota() {
  double least = cpu_threads::max_budget;
  std::ifstream groups{"/proc/self/cgroup"};
  // Lines of "ID:CONTROLLERS:PATH"; version 2 has no controllers.
  for (std::string id, controllers, path;
       std::getline(groups, id, ':') && std::getline(groups, controllers, ':') && std::getline(groups, path);)
    if (controllers.empty())
      least = std::min(least, least_quota("/sys/fs/cgroup", path, quota_v2));
    else if (names_cpu(controllers))
      least = std::min(least, least_quota("/sys/fs/cgroup/cpu", path, quota_v1));
  return least;
}

} // namespace

unsigned usable_cpus() {
  const auto hardware = std::max(1U, std::thread::hardware_concurrency());
  const auto quota = static_cast<unsigned>(std::ceil(control_group_quota()));
  return std::max(1U, std::min({hardware, affinity(), quota, cpu_threads::max_budget}));
}

} // namespace sluice
