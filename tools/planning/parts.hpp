#pragma once

#include <tools/planning/model_plan.hpp>

#include <vector>

namespace sluice::tools {

/// The steps of a placed plan in parts, by start. A device's part ends where its next step needs something
/// that another device made.
[[nodiscard]] std::vector<plan_part> parts_of(const placed_plan& placed);

} // namespace sluice::tools
