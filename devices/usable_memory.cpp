#include <sluice/devices/usable_memory.hpp>

#include <sluice/devices/control_groups.hpp>

#include <fstream>

#include <unistd.h>

namespace sluice {

namespace {

/// "max" in version 2 is no number; version 1 says a number that no machine has.
double limit_in(const std::string& file) {
  double limit = -1;
  std::ifstream in{file};
  return in >> limit ? limit : -1;
}

} // namespace

memory_limit usable_memory() {
  const auto machine =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  const auto group = least_group_limit(
      "memory", [](const std::string& folder) { return limit_in(folder + "/memory.limit_in_bytes"); },
      [](const std::string& folder) { return limit_in(folder + "/memory.max"); });
  if (group < static_cast<double>(machine))
    return {static_cast<std::size_t>(group), "the container"};
  return {machine, "the machine"};
}

} // namespace sluice
