#pragma once

#include <sluice/graph/graph.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace sluice {

struct plan;

/// Where values lie once they are made, and which steps of a plan bring them elsewhere.
class transfer_table {
public:
  /// Adds to `p`, whose steps know their devices, the steps that bring values to who reads them elsewhere,
  /// and results to the host: one for a value and a memory. Each comes before its first reader.
  /// @param known  by edge: constants, which are not brought
  /// @param types  by edge, as planned
  transfer_table(plan& p, std::span<const value> known, std::span<const value_type> types);

  /// The memory, by its device, in which the value of `e` is made; 0: the host's.
  [[nodiscard]] std::uint32_t home(edge_index e) const noexcept { return home_[e]; }
  /// The step that brings `e` to the memory of `device`.
  [[nodiscard]] std::uint32_t step(edge_index e, std::uint32_t device) const {
    return steps_.at({e, device});
  }

private:
  std::vector<std::uint32_t> home_; // by edge
  std::map<std::pair<edge_index, std::uint32_t>, std::uint32_t> steps_;
};

/// Gives each step on an accelerator a stream: that of the first of its inputs made there which nobody
/// continues yet, otherwise a new one. So a branch is one stream, and branches run beside each other.
void assign_streams(plan& p);

} // namespace sluice
