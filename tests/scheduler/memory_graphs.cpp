#include "memory_graphs.hpp"

#include <sluice/scheduler/lifetimes.hpp>

#include <algorithm>
#include <map>

namespace sluice::test {

namespace {

using index = memory_graph::index;

/// Adds a step that reads `reads` and makes a buffer; returns the buffer.
index add(memory_graph& g, std::uint64_t bytes, std::vector<index> reads, double ns = 1) {
  const auto b = static_cast<index>(g.buffers.size());
  g.buffers.push_back({bytes});
  g.steps.push_back({.makes = {b}, .reads = std::move(reads), .after = {}, .in_place = {}, .ns = ns});
  return b;
}

/// The bytes of a small map of features.
std::uint64_t map_bytes(std::mt19937_64& random) {
  constexpr std::uint64_t sizes[] = {28 * 28, 14 * 14, 56 * 56, 7 * 7};
  return sizes[random() % 4] * 4 * (8 + random() % 120);
}

} // namespace

memory_graph random_memory_graph(std::uint64_t seed, std::size_t steps, std::size_t width) {
  std::mt19937_64 random{seed};
  memory_graph g;
  for (index s = 0; s < steps; ++s) {
    memory_graph::step step;
    step.ns = static_cast<double>(1 + random() % 1000);
    const auto inputs = s == 0 ? 0 : 1 + random() % 3;
    for (std::size_t i = 0; i < inputs && !g.buffers.empty(); ++i) {
      // Mostly from not long before, sometimes from anywhere.
      const auto near = std::min<std::size_t>(g.buffers.size(), 1 + random() % (2 * width));
      const auto b = random() % 12 == 0 ? random() % g.buffers.size() : g.buffers.size() - near;
      step.reads.push_back(static_cast<index>(b));
    }
    if (s > 0 && random() % 16 == 0)
      step.after.push_back(static_cast<index>(random() % s));
    const std::size_t outputs = random() % 8 == 0 ? 2 : 1;
    for (std::size_t i = 0; i < outputs; ++i) {
      const auto b = static_cast<index>(g.buffers.size());
      auto bytes = random() % 20 == 0 ? 0 : 1 + random() % (std::uint64_t{1} << (6 + random() % 12));
      if (!step.reads.empty() && random() % 3 == 0) {
        const auto read = step.reads[random() % step.reads.size()];
        bytes = g.buffers[read].bytes;
        step.in_place.push_back({b, read});
      }
      step.makes.push_back(b);
      g.buffers.push_back({bytes, random() % 20 == 0});
    }
    g.steps.push_back(std::move(step));
  }
  return g;
}

memory_graph branching_net(std::size_t blocks, std::size_t branches) {
  std::mt19937_64 random{blocks * 31 + branches};
  memory_graph g;
  auto in = add(g, map_bytes(random), {});
  for (std::size_t k = 0; k < blocks; ++k) {
    std::vector<index> ends;
    for (std::size_t b = 0; b < branches; ++b) {
      auto at = in;
      for (auto length = 1 + random() % 4; length > 0; --length)
        at = add(g, map_bytes(random), {at}, static_cast<double>(1 + random() % 100));
      ends.push_back(at);
    }
    std::uint64_t sum = 0;
    for (const auto e : ends)
      sum += g.buffers[e].bytes;
    in = add(g, sum, ends);
  }
  return g;
}

memory_graph dense_net(std::size_t blocks, std::size_t layers) {
  memory_graph g;
  std::uint64_t pixels = 56 * 56 * 4;
  auto in = add(g, pixels * 64, {});
  for (std::size_t k = 0; k < blocks; ++k, pixels /= 4) {
    auto joined = in;
    std::uint64_t channels = 64;
    for (std::size_t l = 0; l < layers; ++l) {
      const auto norm = add(g, pixels * channels, {joined});
      const auto bottleneck = add(g, pixels * 128, {norm}, 50);
      const auto grown = add(g, pixels * 32, {bottleneck}, 50);
      channels += 32;
      joined = add(g, pixels * channels, {joined, grown});
    }
    in = add(g, pixels / 4 * channels / 2, {joined});
  }
  return g;
}

memory_graph residual_net(std::size_t blocks) {
  memory_graph g;
  auto in = add(g, 800'000, {});
  for (std::size_t k = 0; k < blocks; ++k) {
    const auto a = add(g, 200'000, {in}, 10);
    const auto b = add(g, 200'000, {a}, 20);
    const auto c = add(g, 800'000, {b}, 10);
    in = add(g, 800'000, {in, c});
    g.steps.back().in_place = {{in, c}, {in, g.steps.back().reads[0]}};
  }
  return g;
}

std::size_t mistakes(const memory_graph& g, const step_schedule& allowed, const memory_plan& p,
                     std::mt19937_64& random) {
  const auto links = link(g);
  auto missing_for = links.before;
  for (const auto& lane : allowed.lanes)
    for (std::size_t i = 1; i < lane.size(); ++i)
      missing_for[lane[i]].push_back(lane[i - 1]);
  for (const auto& [first, then] : allowed.waits)
    missing_for[then].push_back(first);

  enum class state { waiting, running, ended };
  std::vector<state> states(g.steps.size(), state::waiting);
  std::vector<std::size_t> readers_left;
  for (const auto& r : links.readers)
    readers_left.push_back(r.size());
  std::map<index, bool> alive; // by buffer; true: handed over to the buffer that the running reader makes
  std::size_t wrong = 0;

  const auto units = [&](index b) { return links.units[b] * memory_unit; };
  const auto begin = [&](index s) {
    states[s] = state::running;
    for (const auto b : g.steps[s].makes) {
      if (units(b) == 0) {
        wrong += p.offsets[b] == memory_plan::not_placed ? 0 : 1;
        continue;
      }
      wrong +=
          p.offsets[b] % memory_unit == 0 && p.offsets[b] <= p.bytes && units(b) <= p.bytes - p.offsets[b]
              ? 0
              : 1;
      const auto taken = p.takes_over[b];
      if (taken != memory_graph::none) {
        const auto permitted =
            std::any_of(g.steps[s].in_place.begin(), g.steps[s].in_place.end(),
                        [&](const auto& pair) { return pair.made == b && pair.read == taken; });
        // Nobody but this step needs them any more.
        wrong += permitted && alive.count(taken) && !alive[taken] && readers_left[taken] == 1 &&
                         p.offsets[b] == p.offsets[taken] && units(b) == units(taken)
                     ? 0
                     : 1;
        alive[taken] = true;
      }
      for (const auto& [other, handed_over] : alive)
        if (!handed_over && p.offsets[b] < p.offsets[other] + units(other) &&
            p.offsets[other] < p.offsets[b] + units(b))
          ++wrong;
      alive[b] = false;
    }
  };
  const auto end = [&](index s) {
    states[s] = state::ended;
    for (const auto b : g.steps[s].makes)
      if (links.readers[b].empty())
        alive.erase(b);
    auto reads = g.steps[s].reads;
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    for (const auto b : reads)
      if (--readers_left[b] == 0)
        alive.erase(b);
  };

  const auto eager = random() % 4; // how much rather steps begin than end
  for (std::size_t ended = 0; ended < g.steps.size();) {
    std::vector<index> ready;
    std::vector<index> running;
    for (index s = 0; s < g.steps.size(); ++s) {
      if (states[s] == state::running)
        running.push_back(s);
      else if (states[s] == state::waiting && std::all_of(missing_for[s].begin(), missing_for[s].end(),
                                                          [&](index b) { return states[b] == state::ended; }))
        ready.push_back(s);
    }
    if (!ready.empty() && (running.empty() || random() % 4 < eager)) {
      begin(ready[random() % ready.size()]);
    } else if (!running.empty()) {
      end(running[random() % running.size()]);
      ++ended;
    } else {
      return wrong + 1; // stuck
    }
  }
  return wrong;
}

std::uint64_t least_memory_by_trying(const memory_graph& g, const step_schedule& allowed) {
  const auto links = link(g);
  const step_precedence precedence{links, allowed};
  const lifetimes life{g, links, precedence};
  const auto n = life.blocks().size();
  std::vector<std::uint64_t> meets(n, 0);
  for (index a = 0; a < n; ++a)
    for (index b = 0; b < n; ++b)
      if (a != b && life.overlap(a, b))
        meets[a] |= std::uint64_t{1} << b;
  std::uint64_t best = 0;
  const auto extend = [&](auto& self, std::uint64_t candidates, std::uint64_t weight) -> void {
    best = std::max(best, weight);
    for (index b = 0; b < n; ++b)
      if (candidates >> b & 1)
        self(self, candidates & meets[b] & ~((std::uint64_t{2} << b) - 1), weight + life.blocks()[b].units);
  };
  extend(extend, ~std::uint64_t{0}, 0);
  return best * memory_unit;
}

std::uint64_t best_peak_by_trying(const memory_graph& g) {
  const auto links = link(g);
  const auto n = g.steps.size();
  const auto bit = [](index s) { return std::uint32_t{1} << s; };
  std::vector<std::uint32_t> needs(n, 0);
  for (index s = 0; s < n; ++s)
    for (const auto b : links.before[s])
      needs[s] |= bit(b);
  std::vector<std::uint32_t> readers(g.buffers.size(), 0);
  for (index b = 0; b < g.buffers.size(); ++b)
    for (const auto r : links.readers[b])
      readers[b] |= bit(r);
  const auto alive_after = [&](std::uint32_t done) {
    std::uint64_t sum = 0;
    for (index b = 0; b < g.buffers.size(); ++b)
      if ((done & bit(links.maker[b])) && (readers[b] & ~done))
        sum += links.units[b];
    return sum;
  };
  const auto during = [&](std::uint32_t done, index s, std::uint64_t alive) {
    for (const auto b : g.steps[s].makes)
      alive += links.units[b];
    std::vector<index> given;
    std::vector<index> served;
    for (const auto& [made, read] : g.steps[s].in_place) {
      const auto free = (readers[read] & ~done) == bit(s) && links.units[made] == links.units[read];
      const auto used =
          std::count(given.begin(), given.end(), read) + std::count(served.begin(), served.end(), made);
      if (!free || used > 0)
        continue;
      alive -= links.units[made];
      given.push_back(read);
      served.push_back(made);
    }
    return alive;
  };
  std::map<std::uint32_t, std::uint64_t> layer{{0, 0}};
  for (std::size_t ended = 0; ended < n; ++ended) {
    std::map<std::uint32_t, std::uint64_t> next;
    for (const auto& [done, peak] : layer) {
      const auto alive = alive_after(done);
      for (index s = 0; s < n; ++s) {
        if ((done & bit(s)) || (needs[s] & ~done))
          continue;
        const auto reached = std::max(peak, during(done, s, alive));
        const auto [at, fresh] = next.try_emplace(done | bit(s), reached);
        if (!fresh)
          at->second = std::min(at->second, reached);
      }
    }
    layer = std::move(next);
  }
  return layer.begin()->second * memory_unit;
}

} // namespace sluice::test
