#pragma once

#include <sluice/scheduler/placement_timeline.hpp>
#include <sluice/scheduler/placement_units.hpp>

#include <span>
#include <vector>

namespace sluice {

/// The steps by falling upward rank: the mean time of a step and the longest way from it to the end,
/// transfers included (HEFT: Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity task
/// scheduling for heterogeneous computing", 2002). Internal to `scheduler/`.
[[nodiscard]] std::vector<std::uint32_t> order_by_rank(const placement_problem& problem,
                                                       const placement_units& units,
                                                       const placement_timeline& timeline);

/// The steps depth first: a step follows as soon as its inputs are there, the one made ready last goes first.
/// Keeps few values alive. Internal to `scheduler/`.
[[nodiscard]] std::vector<std::uint32_t> order_by_depth(const placement_problem& problem,
                                                        const placement_timeline& timeline);

/// Places one step after another where it finishes first, within the budgets as far as that can be seen.
/// @param reserve    part of each budget that weights leave to values
/// @param decisions  gets the costs of the alternatives, by step, if not null
/// Internal to `scheduler/`.
[[nodiscard]] std::vector<std::uint32_t> place_greedily(const placement_problem& problem,
                                                        const placement_units& units,
                                                        placement_timeline& timeline,
                                                        std::span<const std::uint32_t> order, double reserve,
                                                        std::vector<placement_decision>* decisions);

/// Everything on `device` that may go there; the rest where it is fastest. Internal to `scheduler/`.
[[nodiscard]] std::vector<std::uint32_t> place_on_one(const placement_problem& problem,
                                                      const placement_units& units, std::uint32_t device);

} // namespace sluice
