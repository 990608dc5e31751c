#include <sluice/scheduler/order_search.hpp>

#include <algorithm>
#include <random>

namespace sluice {

order_segment::order_segment(const memory_graph& g, const memory_links& links, index first, index count,
                             std::uint64_t alive)
  : links_(links), first_(first), alive_(alive) {
  std::mt19937_64 random{count};
  for (auto global = first; global < first + count; ++global) {
    local_step s;
    for (const auto b : links.before[global])
      if (b >= first)
        s.before.push_back(b - first);
    for (const auto a : links.after[global])
      if (a < first + count)
        s.after.push_back(a - first);
    for (const auto b : g.steps[global].makes) {
      s.makes += links.units[b];
      s.retains += links.readers[b].empty() ? 0 : links.units[b];
    }
    for (const auto b : g.steps[global].reads)
      if (links.units[b] > 0 && std::find(s.reads.begin(), s.reads.end(), b) == s.reads.end())
        s.reads.push_back(b);
    for (const auto& pair : g.steps[global].in_place)
      if (links.units[pair.made] > 0 && links.units[pair.made] == links.units[pair.read])
        s.in_place.push_back(pair);
    s.key = {random(), random()};
    local_.push_back(std::move(s));
  }
}

order_segment::state order_segment::begin() const {
  state s;
  s.ran.assign((local_.size() + 63) / 64, 0);
  s.alive = alive_;
  for (index i = 0; i < local_.size(); ++i)
    if (local_[i].before.empty())
      s.ready.push_back(i);
  return s;
}

/// Whether nobody but `step` is still to read the buffer.
bool order_segment::last_reader(const state& s, index buffer, index step) const {
  const auto& readers = links_.readers[buffer];
  return std::all_of(readers.rbegin(), readers.rend(), [&](index r) {
    return r == first_ + step || r < first_ || (r < first_ + local_.size() && has(s, r - first_));
  });
}

order_segment::cost order_segment::cost_of(const state& s, index step) const {
  const auto& l = local_[step];
  std::uint64_t freed = 0;
  for (const auto b : l.reads)
    if (last_reader(s, b, step))
      freed += links_.units[b];
  std::uint64_t handed_over = 0;
  for (std::size_t i = 0; i < l.in_place.size(); ++i) {
    const auto& pair = l.in_place[i];
    // A buffer serves one output, and an output needs one: the first pair that can be had counts.
    const auto used = std::any_of(l.in_place.begin(), l.in_place.begin() + static_cast<std::ptrdiff_t>(i),
                                  [&](const auto& earlier) {
                                    return (earlier.made == pair.made || earlier.read == pair.read) &&
                                           last_reader(s, earlier.read, step);
                                  });
    if (!used && last_reader(s, pair.read, step))
      handed_over += links_.units[pair.made];
  }
  return {s.alive + l.makes - handed_over, s.alive + l.retains - freed};
}

order_segment::hash order_segment::id_after(const state& s, index step) const {
  return {s.id[0] ^ local_[step].key[0], s.id[1] ^ local_[step].key[1]};
}

void order_segment::run(state& s, index step, std::vector<index>& trail) const {
  s.alive = cost_of(s, step).after;
  s.id = id_after(s, step);
  s.ran[step / 64] |= std::uint64_t{1} << (step % 64);
  ++s.count;
  s.ready.erase(std::find(s.ready.begin(), s.ready.end(), step));
  for (const auto a : local_[step].after)
    if (std::all_of(local_[a].before.begin(), local_[a].before.end(), [&](index b) { return has(s, b); }))
      s.ready.push_back(a);
  trail.push_back(step);
}

std::uint64_t order_segment::peak_of(const std::vector<index>& order) const {
  auto at = begin();
  std::uint64_t peak = 0;
  std::vector<index> trail;
  for (const auto step : order) {
    peak = std::max(peak, cost_of(at, step).during);
    run(at, step, trail);
  }
  return peak;
}

void order_segment::run_free(state& s, std::uint64_t limit, std::vector<index>& trail) const {
  for (std::size_t i = 0; i < s.ready.size();) {
    const auto step = s.ready[i];
    const auto c = cost_of(s, step);
    if (c.during > limit || c.after > s.alive) {
      ++i;
      continue;
    }
    run(s, step, trail);
    i = 0; // what it freed may let others run
  }
}

} // namespace sluice
