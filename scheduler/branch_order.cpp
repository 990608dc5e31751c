#include <sluice/scheduler/branch_order.hpp>

#include <sluice/graph/error.hpp>
#include <sluice/scheduler/lane_simulation.hpp>
#include <sluice/scheduler/memory_plan.hpp>

#include <algorithm>
#include <limits>

namespace sluice {

namespace {

using index = memory_graph::index;

/// Limits of memory that are tried, in the peak of the serial order.
constexpr double limits[] = {1, 1.02, 1.05, 1.08, 1.11, 1.15, 1.2, 1.3, 1.5, 2, 3};

/// How much more memory an order may take without waits between its lanes than with them.
constexpr double worth_waiting = 1.02;

/// The time from the begin of each step to the end of all, negative: who has most to come is first.
std::vector<double> by_time_to_come(const memory_graph& g, const memory_links& links) {
  std::vector<double> rank(g.steps.size(), 0);
  for (auto s = g.steps.size(); s-- > 0;) {
    for (const auto a : links.after[s])
      rank[s] = std::min(rank[s], rank[a]);
    rank[s] -= g.steps[s].ns;
  }
  return rank;
}

std::vector<double> by_position(const step_schedule& serial, std::size_t steps) {
  std::vector<double> rank(steps, 0);
  for (std::size_t i = 0; i < serial.lanes.at(0).size(); ++i)
    rank[serial.lanes[0][i]] = static_cast<double>(i);
  return rank;
}

} // namespace

branch_order best_branch_order(const memory_graph& g, const serial_order& serial, unsigned lanes,
                               double slowdown) {
  if (lanes == 0)
    throw error{errc::invalid_argument, "steps cannot run in no branches"};
  branch_order made;
  if (lanes == 1) {
    made.schedule = serial.schedule;
    made.least_bytes = serial.peak;
    made.fastest_ns = serial.schedule.ns;
    return made;
  }
  const auto links = link(g);
  const auto position = by_position(serial.schedule, g.steps.size());
  const auto to_come = by_time_to_come(g, links);
  constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();
  std::vector<simulated_lanes> tried;
  for (const auto* rank : {&to_come, &position}) {
    tried.push_back(simulate_lanes(g, links, lanes, unlimited, *rank, position));
    for (const auto factor : limits) {
      const auto limit = static_cast<double>(serial.peak / memory_unit) * factor;
      tried.push_back(simulate_lanes(g, links, lanes, static_cast<std::uint64_t>(limit), *rank, position));
    }
  }
  made.fastest_ns = std::min_element(tried.begin(), tried.end(), [](const auto& a, const auto& b) {
                      return a.schedule.ns < b.schedule.ns;
                    })->schedule.ns;
  const simulated_lanes* best = nullptr;
  for (const auto& t : tried)
    if (t.schedule.ns <= slowdown * made.fastest_ns &&
        (!best || t.peak < best->peak || (t.peak == best->peak && t.schedule.ns < best->schedule.ns)))
      best = &t;
  made.schedule = best->schedule;
  made.least_bytes = best->peak * memory_unit;
  auto free = made.schedule;
  free.waits.clear();
  const auto without_waits = least_memory(g, free);
  if (static_cast<double>(without_waits) <= worth_waiting * static_cast<double>(made.least_bytes)) {
    made.schedule = std::move(free);
    made.least_bytes = without_waits;
  }
  return made;
}

} // namespace sluice
