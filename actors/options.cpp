#include <sluice/actors/options.hpp>

#include <sluice/devices/memory_ledger.hpp>
#include <sluice/graph/error.hpp>

namespace sluice {

std::size_t budget_of(const std::string& device, const std::map<std::string, std::size_t>& budgets) {
  for (const auto& [name, bytes] : budgets)
    if (name != device)
      throw error{errc::invalid_argument,
                  "a memory budget is given for '" + name + "'; the only device is " + device};
  return budgets.empty() ? memory_ledger::unlimited : budgets.begin()->second;
}

} // namespace sluice
