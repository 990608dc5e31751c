#pragma once

#include <sluice/scheduler/placement_problem.hpp>

#include <string>
#include <variant>
#include <vector>

namespace sluice {

struct placement_options {
  bool strict = false; ///< refuse where a scope or colocation cannot be kept, instead of moving the step
  double slack = 0.02; ///< by how much finish may be later if fewer bytes then cross the links
  /// How hard to search, in parts that take about 2 ns: the same answer on every machine. Starting points are
  /// tried in any case.
  std::size_t effort = 30'000'000;
};

/// Steps and transfers in time, and what they need. The estimate that a placement was chosen by.
struct placement_schedule {
  struct firing {
    double start_ns = 0;
    double finish_ns = 0;
    std::uint32_t lane = 0;
  };
  struct transfer {
    std::uint32_t value = 0;
    std::uint32_t link = 0;
    std::uint32_t engine = 0;
    double start_ns = 0;
    double finish_ns = 0;
  };

  std::vector<firing> firings;         ///< by step
  std::vector<transfer> transfers;     ///< as they were issued; one for a value and a device that needs it
  std::vector<std::uint32_t> order;    ///< the steps by their turn: each device follows it
  std::vector<std::size_t> peak_bytes; ///< by device, weights included
  std::vector<std::size_t> link_bytes; ///< by link
  double finish_ns = 0;
};

/// Who decided where a step goes.
enum class placed_by {
  scope,       ///< its scope left one device
  colocation,  ///< another step of its group
  only_kernel, ///< one device, of those that its scope means, has a kernel
  cost,
};

/// Why a step is where it is, as it was known when it was decided.
struct placement_decision {
  /// A later change of places that moved the step: the whole plan before and after it.
  struct revision {
    std::uint32_t from = 0;
    double finish_before_ns = 0;
    double finish_after_ns = 0;
    std::size_t bytes_before = 0;
    std::size_t bytes_after = 0;
    bool fits_before = true; ///< false: within the budgets only since then
  };

  placed_by by = placed_by::cost;
  /// By device: when the step would have finished there, given the places of those before it. no_kernel where
  /// it may not go.
  std::vector<double> finish_ns;
  std::vector<revision> revisions; ///< of a step placed by cost, in order
  bool scope_broken = false;       ///< soft placement moved it out of its scope, which has no kernel for it
  bool colocation_broken = false;  ///< soft placement left its group, which cannot go where it must
};

struct placement {
  std::vector<std::uint32_t> places; ///< device by step
  placement_schedule schedule;
  std::vector<placement_decision> decisions; ///< by step
};

/// That no placement was found within the budgets, and what the nearest one lacked.
struct placement_shortage {
  struct holder {
    std::string name; ///< value, constant or scratch space of a step
    std::size_t bytes = 0;
  };
  std::uint32_t device = 0;
  std::size_t lacking_bytes = 0; ///< how much larger its budget had to be
  std::size_t peak_bytes = 0;    ///< what it would hold
  std::vector<holder> holders;   ///< at that moment, the largest first

  /// One sentence that names the device, the bytes and the largest holders.
  [[nodiscard]] SLUICE_API std::string message(const placement_problem& problem) const;
};

/// Decides places: least estimated finish time within the budgets, then, among those within `slack` of it
/// that were found, fewest bytes over the links; never later than the best single device that fits.
/// Deterministic. Throws errc::invalid_argument as placement_problem::check() does, if a step has no kernel
/// anywhere, or, when strict, names the step whose scope or colocation cannot be kept.
[[nodiscard]] SLUICE_API std::variant<placement, placement_shortage>
place(const placement_problem& problem, const placement_options& options = {});

/// "conv1: sim:0, by cost: …": the decision in words.
[[nodiscard]] SLUICE_API std::string explain(const placement_problem& problem, const placement& made,
                                             std::uint32_t step);

} // namespace sluice
