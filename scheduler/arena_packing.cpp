#include <sluice/scheduler/arena_packing.hpp>

#include <algorithm>
#include <numeric>
#include <random>

namespace sluice {

namespace {

using index = memory_graph::index;

/// Comparisons of two blocks that a packing may cost; about a nanosecond and a half each.
constexpr std::uint64_t effort = 24'000'000;
/// However large the graph, that many orders are tried.
constexpr int fewest_orders = 2;
constexpr int most_steps = 3'000;

class packer {
public:
  packer(const lifetimes& l, std::uint64_t least) : life_(l), blocks_(l.blocks()), least_(least) {}

  arena_packing make() {
    if (blocks_.empty())
      return {};
    try_orders();
    improve();
    return std::move(best_);
  }

private:
  struct placed {
    std::uint64_t begin;
    std::uint64_t end;
    index block;
  };

  [[nodiscard]] bool done() const { return best_.units <= least_; }

  /// How long a block lives, in others that it may meet.
  [[nodiscard]] std::vector<std::uint64_t> crowds() {
    std::vector<std::uint64_t> sum(blocks_.size(), 0);
    for (index a = 0; a < blocks_.size(); ++a)
      for (index b = a + 1; b < blocks_.size(); ++b)
        if (life_.overlap(a, b)) {
          sum[a] += blocks_[b].units;
          sum[b] += blocks_[a].units;
        }
    spent_ += blocks_.size() * blocks_.size() / 2;
    return sum;
  }

  void try_orders() {
    std::vector<index> as_made(blocks_.size());
    std::iota(as_made.begin(), as_made.end(), index{0});
    best_.units = ~std::uint64_t{0};
    const auto crowd = crowds();
    const auto size = [&](index b) { return blocks_[b].units; };
    const auto area = [&](index b) {
      return static_cast<double>(blocks_[b].units) * static_cast<double>(crowd[b]);
    };
    int tried = 0;
    const auto attempt = [&](auto key) {
      if (done() || (tried++ >= fewest_orders && spent_ > effort))
        return;
      auto order = as_made;
      std::stable_sort(order.begin(), order.end(), [&](index a, index b) { return key(a) > key(b); });
      auto packing = place(order);
      keep(std::move(packing), std::move(order));
    };
    attempt(size);
    attempt([&](index b) { return crowd[b] + size(b); });
    attempt([&](index b) { return std::pair{crowd[b], size(b)}; });
    attempt(area);
    attempt([&](index b) { return std::pair{size(b), crowd[b]}; });
    attempt([](index b) { return ~b; }); // as made
  }

  void keep(arena_packing packing, std::vector<index> order) {
    if (packing.units >= best_.units)
      return;
    best_ = std::move(packing);
    best_order_ = std::move(order);
  }

  /// First fit: each block as low as those placed before it allow.
  arena_packing place(const std::vector<index>& order) {
    arena_packing made;
    made.offsets.resize(blocks_.size());
    low_first_.clear();
    for (const auto b : order) {
      const auto units = blocks_[b].units;
      std::uint64_t at = 0;
      for (const auto& p : low_first_) {
        ++spent_;
        if (p.end <= at || !life_.overlap(b, p.block))
          continue;
        if (p.begin >= at + units)
          break;
        at = p.end;
      }
      const auto where =
          std::upper_bound(low_first_.begin(), low_first_.end(), at,
                           [](std::uint64_t begin, const placed& p) { return begin < p.begin; });
      low_first_.insert(where, {at, at + units, b});
      made.offsets[b] = at;
      made.units = std::max(made.units, at + units);
    }
    return made;
  }

  /// Moves a block that reaches the top of the arena to an earlier place in the order, again and again.
  void improve() {
    std::mt19937_64 random{blocks_.size()};
    auto order = best_order_;
    auto current = best_;
    for (int step = 0; step < most_steps && !done() && spent_ < effort; ++step) {
      std::vector<std::size_t> top;
      for (std::size_t i = 0; i < order.size(); ++i)
        if (current.offsets[order[i]] + blocks_[order[i]].units == current.units)
          top.push_back(i);
      const auto from = top[random() % top.size()];
      auto next = order;
      const auto to = from == 0 ? random() % order.size() : random() % from;
      if (to < from)
        std::rotate(next.begin() + static_cast<std::ptrdiff_t>(to),
                    next.begin() + static_cast<std::ptrdiff_t>(from),
                    next.begin() + static_cast<std::ptrdiff_t>(from) + 1);
      else
        std::swap(next[from], next[to]);
      auto packing = place(next);
      if (packing.units > current.units)
        continue;
      order = std::move(next);
      current = std::move(packing);
      keep(current, order);
    }
  }

  const lifetimes& life_;
  const std::vector<lifetimes::block>& blocks_;
  const std::uint64_t least_;
  std::uint64_t spent_ = 0;
  arena_packing best_;
  std::vector<index> best_order_;
  std::vector<placed> low_first_; // ordered by begin
};

} // namespace

arena_packing pack(const lifetimes& l, std::uint64_t least) {
  return packer{l, least}.make();
}

} // namespace sluice
