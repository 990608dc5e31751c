#include <sluice/scheduler/serial_order.hpp>

#include <sluice/scheduler/order_search.hpp>

#include <algorithm>
#include <cmath>

namespace sluice {

namespace {

using index = memory_graph::index;

/// How often steps may be weighed in all searches in beams.
constexpr std::size_t beam_work = 100'000;
/// Two peaks nearer to each other than a part in so many are not told apart by a search in a beam.
constexpr std::uint64_t precision = 400;
/// How often an order is improved in a window.
constexpr std::size_t window_rounds = 40;
/// The sets of steps that the exact search looks at where it is known to need more than it may.
constexpr std::size_t states_at_a_venture = 500;

/// Which steps every other one must come before or after. They cut the graph into segments.
std::vector<bool> cuts_of(const memory_links& links) {
  const auto n = links.before.size();
  std::vector<bool> cut(n, true);
  // Of those visited so far, how many are followed by no visited one: if one alone, it follows all.
  const auto sweep = [&](bool forwards) {
    const auto& behind = forwards ? links.before : links.after;
    std::vector<bool> followed(n, false);
    std::size_t open = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto s = forwards ? i : n - 1 - i;
      for (const auto b : behind[s])
        if (!followed[b]) {
          followed[b] = true;
          --open;
        }
      if (++open != 1)
        cut[s] = false;
    }
  };
  sweep(true);
  sweep(false);
  return cut;
}

struct segment {
  order_segment steps;
  segment_order order; // the best so far
  bool cut;            // of one step, which nothing can move
  /// At least so many sets of its steps can have run: those listed before some step, and any of the others
  /// that were ready then.
  double sets = 1;
};

/// Gives a segment the order in which the graph lists its steps; returns the units in memory after them.
std::uint64_t run_as_listed(segment& s) {
  auto at = s.steps.begin();
  for (index i = 0; i < s.steps.size(); ++i) {
    s.order.peak = std::max(s.order.peak, s.steps.cost_of(at, i).during);
    s.sets += std::ldexp(1., static_cast<int>(at.ready.size()) - 1);
    s.steps.run(at, i, s.order.steps);
  }
  return at.alive;
}

std::vector<segment> segments_of(const memory_graph& g, const memory_links& links) {
  const auto cut = cuts_of(links);
  std::vector<segment> made;
  std::uint64_t alive = 0;
  for (std::size_t begin = 0; begin < g.steps.size();) {
    auto end = begin + 1;
    while (!cut[begin] && end < g.steps.size() && !cut[end])
      ++end;
    made.push_back(
        {{g, links, static_cast<index>(begin), static_cast<index>(end - begin), alive}, {}, cut[begin]});
    alive = run_as_listed(made.back());
    begin = end;
  }
  return made;
}

/// Improves a segment's order by searches in beams, for ever lower peaks down to `low`.
void improve(segment& s, std::uint64_t low, std::size_t width, std::size_t& work) {
  const auto attempt = [&](std::uint64_t limit) {
    auto found = search_in_beam(s.steps, limit, width, work);
    if (found && found->peak < s.order.peak)
      s.order = std::move(*found);
    return found.has_value();
  };
  if (attempt(low))
    return;
  for (auto below = low; s.order.peak - below > s.order.peak / precision && work < beam_work;) {
    const auto middle = below + (s.order.peak - below) / 2;
    if (!attempt(middle))
      below = middle;
  }
}

} // namespace

serial_order best_serial_order(const memory_graph& g, const order_effort& effort) {
  const auto links = link(g);
  auto segments = segments_of(g, links);
  std::uint64_t proven = 0; // no order has a lower peak
  std::size_t open_steps = 0;
  for (const auto& s : segments) {
    if (s.cut)
      proven = std::max(proven, s.order.peak);
    else
      open_steps += s.steps.size();
  }
  // From the highest peak down, so that what is found for one segment spares the search of others.
  std::vector<segment*> by_peak;
  for (auto& s : segments)
    if (!s.cut)
      by_peak.push_back(&s);
  std::stable_sort(by_peak.begin(), by_peak.end(),
                   [](const auto* a, const auto* b) { return a->order.peak > b->order.peak; });
  auto peak = proven;
  std::size_t work = 0;
  for (auto* s : by_peak) {
    if (s->order.peak <= peak)
      break;
    const auto states = s->sets <= static_cast<double>(effort.states)
                            ? effort.states
                            : std::min(effort.states, states_at_a_venture);
    if (auto best = search_exactly(s->steps, peak, states)) {
      s->order = std::move(*best);
      proven = std::max(proven, s->order.peak <= peak ? proven : s->order.peak);
    } else {
      improve(*s, peak, std::min(effort.beam, std::max<std::size_t>(4, beam_work / (open_steps * 40 + 1))),
              work);
    }
    peak = std::max(peak, s->order.peak);
  }
  serial_order made;
  auto& lane = made.schedule.lanes.emplace_back();
  for (const auto& s : segments)
    for (const auto step : s.order.steps)
      lane.push_back(s.steps.first() + step);
  if (peak > proven)
    peak = improve_in_windows(g, lane, proven, window_rounds);
  made.peak = peak * memory_unit;
  made.optimal = peak == proven;
  for (const auto& s : g.steps)
    made.schedule.ns += s.ns;
  return made;
}

} // namespace sluice
