#pragma once

#include <sluice/scheduler/memory_graph.hpp>
#include <sluice/scheduler/plan_placement.hpp>

namespace sluice {

/// The memory of one frame on one device of a placed plan: steps are the firings there, what arrives from
/// other devices and what leaves for them.
struct placed_memory {
  struct step {
    enum class kind { firing, arrival, departure } what = kind::firing;
    std::uint32_t index = 0; ///< of the problem's step, or of its value
  };

  memory_graph graph;
  std::vector<step> steps;          ///< by step of the graph
  std::vector<std::string> buffers; ///< by buffer: whose bytes these are
  std::size_t weight_bytes = 0;     ///< of constants there, beside the graph's buffers
};

/// What `placed`, a placement of `p`, holds on `device`. An output stands in an input's bytes where the
/// kernel permits it. Feeds are the caller's, results leave the arena.
[[nodiscard]] SLUICE_API placed_memory memory_on(const plan& p, const placed_plan& placed,
                                                 std::uint32_t device);

} // namespace sluice
