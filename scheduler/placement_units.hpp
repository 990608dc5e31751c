#pragma once

#include <sluice/scheduler/placement.hpp>

#include <vector>

namespace sluice {

/// Steps that go to one device together, and where they may go: what scopes, colocation and kernels leave
/// open. Internal to `scheduler/`.
struct placement_units {
  struct unit {
    std::vector<std::uint32_t> steps;
    std::vector<std::uint32_t> allowed; ///< devices, at least one
  };

  std::vector<unit> units;
  std::vector<std::uint32_t> unit_of;        ///< by step
  std::vector<placement_decision> decisions; ///< by step; without costs

  /// Throws errc::invalid_argument as place() does.
  [[nodiscard]] static placement_units make(const placement_problem& problem, bool strict);
};

} // namespace sluice
