#include <sluice/scheduler/lifetimes.hpp>
#include <sluice/scheduler/maximum_flow.hpp>

#include <algorithm>

// By Dilworth's theorem, with weights, the heaviest set of blocks any two of which may be alive at once is as
// heavy as the least number of units that every block can be made of if a unit is handed on, from a dead
// block to one that is made later. So it is the sum of all blocks less the greatest number of handings on:
// a maximum flow from the ends of blocks along the order of the steps to where blocks are made.

namespace sluice {

namespace {

using index = memory_graph::index;

std::uint64_t serial_peak(const lifetimes& l, const step_precedence& precedence) {
  const auto n = precedence.size();
  std::vector<std::uint64_t> made(n, 0);
  std::vector<std::uint64_t> dead(n, 0);
  for (const auto& b : l.blocks()) {
    made[precedence.position(b.maker)] += b.units;
    dead[precedence.position(b.ends.front())] += b.units;
  }
  std::uint64_t alive = 0;
  std::uint64_t peak = 0;
  for (std::size_t i = 0; i < n; ++i) {
    alive += made[i];
    peak = std::max(peak, alive);
    alive -= dead[i];
  }
  return peak;
}

/// The first steps of those that begin after all of `ends`.
std::vector<index> first_after(const std::vector<index>& ends, const step_precedence& precedence) {
  const auto comes_after = [&](index s) {
    return std::all_of(ends.begin(), ends.end(), [&](index e) { return precedence.before(e, s); });
  };
  std::vector<index> first;
  for (auto i = precedence.position(ends.front()) + 1; i < precedence.size(); ++i) {
    const auto s = precedence.order()[i];
    const auto& direct = precedence.direct()[s];
    if (comes_after(s) && std::none_of(direct.begin(), direct.end(), comes_after))
      first.push_back(s);
  }
  return first;
}

} // namespace

std::uint64_t least_units(const lifetimes& l, const step_precedence& precedence) {
  if (precedence.serial())
    return serial_peak(l, precedence);
  const auto n = static_cast<index>(precedence.size());
  const auto begin_of = [](index s) { return s; };
  const auto end_of = [n](index s) { return n + s; };
  flow_network network{2 * std::size_t{n}};
  const auto source = network.add_node();
  const auto sink = network.add_node();
  std::vector<std::uint64_t> made(n, 0);
  std::vector<std::uint64_t> dead(n, 0);
  std::uint64_t sum = 0;
  for (const auto& b : l.blocks()) {
    sum += b.units;
    made[b.maker] += b.units;
    if (b.ends.size() == 1) {
      dead[b.ends.front()] += b.units;
      continue;
    }
    const auto joined = network.add_node();
    network.add_arc(source, joined, b.units);
    for (const auto s : first_after(b.ends, precedence))
      network.add_arc(joined, begin_of(s), flow_network::unlimited);
  }
  for (const auto s : precedence.order()) {
    if (made[s] > 0)
      network.add_arc(begin_of(s), sink, made[s]);
    if (dead[s] > 0)
      network.add_arc(source, end_of(s), dead[s]);
    network.add_arc(begin_of(s), end_of(s), flow_network::unlimited);
    for (const auto b : precedence.direct()[s])
      network.add_arc(end_of(b), begin_of(s), flow_network::unlimited);
  }
  return sum - network.saturate(source, sink);
}

} // namespace sluice
