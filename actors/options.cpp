#include <sluice/actors/options.hpp>

#include <sluice/devices/memory_ledger.hpp>
#include <sluice/graph/error.hpp>

#include <boost/algorithm/string/join.hpp>

#include <algorithm>
#include <vector>

namespace sluice {

std::size_t budget_of(const std::string& device, const std::map<std::string, std::size_t>& budgets) {
  const auto at = budgets.find(device);
  return at == budgets.end() ? memory_ledger::unlimited : at->second;
}

void check_budgets(const std::map<std::string, std::size_t>& budgets, std::span<const std::string> devices) {
  for (const auto& [name, bytes] : budgets)
    if (std::find(devices.begin(), devices.end(), name) == devices.end())
      throw error{errc::invalid_argument,
                  "a memory budget is given for '" + name + "'; the " +
                      (devices.size() == 1 ? "only device is " : "devices are ") +
                      boost::algorithm::join(std::vector<std::string>{devices.begin(), devices.end()}, ", ")};
}

} // namespace sluice
