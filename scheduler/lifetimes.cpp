#include <sluice/scheduler/lifetimes.hpp>

#include <algorithm>

namespace sluice {

lifetimes::lifetimes(const memory_graph& g, const memory_links& links, const step_precedence& precedence)
  : serial_(precedence.serial()) {
  form_blocks(g, links, precedence);
  if (serial_) {
    for (const auto& b : blocks_) {
      begin_.push_back(precedence.position(b.maker));
      index end = 0;
      for (const auto s : b.ends)
        end = std::max(end, precedence.position(s));
      end_.push_back(end);
    }
  } else {
    compare(precedence);
  }
}

void lifetimes::form_blocks(const memory_graph& g, const memory_links& links,
                            const step_precedence& precedence) {
  block_of_.assign(g.buffers.size(), memory_graph::none);
  takes_over_.assign(g.buffers.size(), memory_graph::none);
  std::vector<bool> taken(g.buffers.size(), false);
  // Whether `s` is the last to need `b` in every schedule.
  const auto last = [&](index s, index b) {
    return std::all_of(links.readers[b].begin(), links.readers[b].end(),
                       [&](index r) { return r == s || precedence.before(r, s); });
  };
  for (const auto s : precedence.order()) {
    for (const auto& [made, read] : g.steps[s].in_place)
      if (links.units[made] != 0 && links.units[made] == links.units[read] &&
          takes_over_[made] == memory_graph::none && !taken[read] && last(s, read)) {
        takes_over_[made] = read;
        taken[read] = true;
      }
    for (const auto b : g.steps[s].makes) {
      if (links.units[b] == 0)
        continue;
      const auto& ends = links.readers[b].empty() ? std::vector<index>{s} : links.readers[b];
      if (takes_over_[b] != memory_graph::none) {
        block_of_[b] = block_of_[takes_over_[b]];
        blocks_[block_of_[b]].ends = ends;
      } else {
        block_of_[b] = static_cast<index>(blocks_.size());
        blocks_.push_back({links.units[b], s, ends});
      }
    }
  }
  // Only the last steps matter, which keeps what is compared short.
  for (auto& b : blocks_) {
    auto& ends = b.ends;
    std::sort(ends.begin(), ends.end(),
              [&](index x, index y) { return precedence.position(x) < precedence.position(y); });
    std::vector<index> kept;
    for (auto e = ends.rbegin(); e != ends.rend(); ++e)
      if (std::none_of(kept.begin(), kept.end(), [&](index k) { return precedence.before(*e, k); }))
        kept.push_back(*e);
    ends = std::move(kept);
  }
}

void lifetimes::compare(const step_precedence& precedence) {
  const auto n = blocks_.size();
  words_ = (n + 63) / 64;
  overlaps_.assign(n * words_, 0);
  const auto dead_before = [&](const block& a, const block& b) {
    return std::all_of(a.ends.begin(), a.ends.end(), [&](index s) { return precedence.before(s, b.maker); });
  };
  // Blocks are in the order of their makers: an earlier one is never made after a later one is dead.
  for (std::size_t a = 0; a < n; ++a)
    for (auto b = a + 1; b < n; ++b)
      if (!dead_before(blocks_[a], blocks_[b])) {
        overlaps_[a * words_ + b / 64] |= std::uint64_t{1} << (b % 64);
        overlaps_[b * words_ + a / 64] |= std::uint64_t{1} << (a % 64);
      }
}

} // namespace sluice
