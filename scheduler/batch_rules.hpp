#pragma once

#include <sluice/scheduler/batch_flow.hpp>

#include <map>
#include <string_view>

/// The rules by family, for find_batch_rule().
namespace sluice::batch_rules {

using table = std::map<std::string_view, batch_rule>;

/// Operators that move elements and do not calculate with them.
[[nodiscard]] const table& movement();
/// Operators that calculate.
[[nodiscard]] const table& calculation();

} // namespace sluice::batch_rules
