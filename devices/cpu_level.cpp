#include <sluice/devices/cpu_level.hpp>

#include <algorithm>
#include <cstdlib>

namespace sluice {

std::string_view to_string(cpu_level l) noexcept {
  static constexpr std::array<std::string_view, 3> names = {"v2", "v3", "v4"};
  return names[static_cast<std::size_t>(l)];
}

cpu_level supported_cpu_level() noexcept {
  // The compiler's own check also asks the operating system whether it saves the wide registers.
  static const auto level = [] {
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return v4 ? cpu_level::v4 : v3 ? cpu_level::v3 : cpu_level::v2;
  }();
  return level;
}

cpu_level active_cpu_level() noexcept {
  static const auto level = [] {
    const auto* asked = std::getenv("SLUICE_CPU_LEVEL");
    for (const auto l : cpu_levels)
      if (asked && to_string(l) == asked)
        return std::min(l, supported_cpu_level());
    return supported_cpu_level();
  }();
  return level;
}

} // namespace sluice
