#include <sluice/scheduler/placement_starts.hpp>

#include <algorithm>
#include <numeric>

namespace sluice {

namespace {

constexpr auto never = placement_problem::no_kernel;

/// The allowed device on which a unit takes least time.
std::uint32_t fastest_device(const placement_problem& problem, const placement_units::unit& unit) {
  auto best = unit.allowed.front();
  auto least = never;
  for (const auto d : unit.allowed) {
    auto time = 0.0;
    for (const auto s : unit.steps)
      time += problem.steps[s].time_ns[d];
    if (time < least) {
      least = time;
      best = d;
    }
  }
  return best;
}

double mean_transfer(const placement_problem& problem, std::uint32_t value) {
  auto sum = 0.0;
  for (const auto& link : problem.links)
    sum += link.latency_ns + static_cast<double>(problem.values[value].bytes) / link.bytes_per_ns;
  return problem.links.empty() ? 0 : sum / static_cast<double>(problem.links.size());
}

} // namespace

std::vector<std::uint32_t> order_by_rank(const placement_problem& problem, const placement_units& units,
                                         const placement_timeline& timeline) {
  std::vector<double> rank(problem.steps.size());
  for (auto s = static_cast<std::uint32_t>(problem.steps.size()); s-- > 0;) {
    const auto& allowed = units.units[units.unit_of[s]].allowed;
    auto time = 0.0;
    for (const auto d : allowed)
      time += problem.steps[s].time_ns[d];
    rank[s] += time / static_cast<double>(allowed.size());
    for (const auto v : timeline.inputs(s))
      if (const auto p = timeline.producer(v); p != placement_timeline::no_step)
        rank[p] = std::max(rank[p], rank[s] + mean_transfer(problem, v));
  }
  std::vector<std::uint32_t> order(problem.steps.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return rank[a] > rank[b]; });
  return order;
}

std::vector<std::uint32_t> order_by_depth(const placement_problem& problem,
                                          const placement_timeline& timeline) {
  const auto count = static_cast<std::uint32_t>(problem.steps.size());
  std::vector<std::vector<std::uint32_t>> readers(count);
  std::vector<std::uint32_t> missing(count);
  for (std::uint32_t s = 0; s < count; ++s)
    for (const auto v : timeline.inputs(s))
      if (const auto p = timeline.producer(v); p != placement_timeline::no_step) {
        readers[p].push_back(s);
        ++missing[s];
      }
  std::vector<std::uint32_t> ready;
  for (auto s = count; s-- > 0;)
    if (missing[s] == 0)
      ready.push_back(s);
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const auto s = ready.back();
    ready.pop_back();
    order.push_back(s);
    for (auto r = readers[s].rbegin(); r != readers[s].rend(); ++r)
      if (--missing[*r] == 0)
        ready.push_back(*r);
  }
  return order;
}

std::vector<std::uint32_t> place_greedily(const placement_problem& problem, const placement_units& units,
                                          placement_timeline& timeline, std::span<const std::uint32_t> order,
                                          double reserve, std::vector<placement_decision>* decisions) {
  constexpr auto open = ~std::uint32_t{0};
  std::vector<std::uint32_t> places(problem.steps.size(), open);
  timeline.begin(reserve);
  for (const auto s : order) {
    const auto& unit = units.units[units.unit_of[s]];
    auto* costs = decisions ? &(*decisions)[s].finish_ns : nullptr;
    if (costs)
      costs->assign(problem.devices.size(), never);
    const auto decided = places[s];
    auto best = decided;
    auto earliest = never;
    for (const auto d : unit.allowed) {
      if (decided != open && !costs)
        break;
      const auto finish = timeline.probe(s, d);
      if (costs)
        (*costs)[d] = finish;
      if (decided == open && finish < earliest) {
        earliest = finish;
        best = d;
      }
    }
    if (best == open)
      best = fastest_device(problem, unit);
    for (const auto member : unit.steps)
      places[member] = best;
    timeline.commit(s, best);
  }
  return places;
}

std::vector<std::uint32_t> place_on_one(const placement_problem& problem, const placement_units& units,
                                        std::uint32_t device) {
  std::vector<std::uint32_t> places(problem.steps.size());
  for (const auto& unit : units.units) {
    const auto may = std::find(unit.allowed.begin(), unit.allowed.end(), device) != unit.allowed.end();
    const auto there = may ? device : fastest_device(problem, unit);
    for (const auto s : unit.steps)
      places[s] = there;
  }
  return places;
}

} // namespace sluice
