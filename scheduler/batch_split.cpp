#include <sluice/scheduler/batch_split.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice {

namespace {

/// Opening, starting and reassembling a part.
constexpr double part_ns = 50'000;
/// Parts with less than this gain nothing more from caches. Starting below it would trust estimated times too
/// much.
constexpr double smallest_bytes = 4e6;
/// More than this in one frame is slower: caches hold none of it, and blocks come fresh from the system each
/// time. Five-by-five convolutions took 242 ns per item at 175 MB, 322 at 700 MB.
constexpr double comfortable_bytes = 200e6;
constexpr double slower_beyond = 1.3;
/// If no estimate is known.
constexpr double unknown_item_ns = 100'000;
/// Neighbouring sizes to try are so far apart.
constexpr std::int64_t size_ratio = 4;
/// A size must be better by this share to be worth a change: less is noise.
constexpr double gain_worth_it = 0.04;

template <class F>
void for_each_step(const plan& p, F f) {
  for (const auto& s : p.steps) {
    f(p, s);
    for (const auto& body : s.bodies)
      if (body)
        for_each_step(*body, f);
  }
}

} // namespace

std::uint64_t frame_need(const plan& p) {
  return p.arena_bytes + p.loose_bytes;
}

std::uint64_t packed_need(const plan& p) {
  std::uint64_t bytes = 0;
  for_each_step(p,
                [&](const plan&, const plan_step& s) { bytes += s.kernel ? s.kernel->packed_bytes() : 0; });
  return bytes;
}

std::string batch_variant_node(const plan& p) {
  std::string found;
  for_each_step(p, [&](const plan& in, const plan_step& s) {
    if (found.empty() && s.kernel && !s.kernel->traits().batch_invariant)
      found = title(in.source->at(s.node));
  });
  return found;
}

plan_request request_for_items(const plan_request& whole, const batch_axes& axes, std::int64_t items) {
  auto made = whole;
  for (std::size_t i = 0; i < made.fed.size(); ++i) {
    if (!axes.fed[i])
      continue;
    const auto& t = whole.fed[i].type;
    made.fed[i].type = value_type{t.element(), t.shape().to_shape()->with(*axes.fed[i], items)};
  }
  return made;
}

std::uint64_t batch_bytes::at(std::int64_t items) const noexcept {
  return static_cast<std::uint64_t>(std::ceil(fixed + per_item * static_cast<double>(items)));
}

std::int64_t batch_bytes::most_items(std::uint64_t bytes) const noexcept {
  const auto left = static_cast<double>(bytes) - fixed;
  if (left < per_item)
    return 0;
  if (per_item <= 0)
    return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(left / per_item);
}

batch_bytes line_through(std::int64_t items_a, std::uint64_t bytes_a, std::int64_t items_b,
                         std::uint64_t bytes_b) noexcept {
  const auto a = static_cast<double>(bytes_a);
  const auto b = static_cast<double>(bytes_b);
  if (items_a == items_b || bytes_a == bytes_b)
    return {std::max(a, b), 0};
  batch_bytes line;
  line.per_item = std::max(0., (b - a) / static_cast<double>(items_b - items_a));
  line.fixed = std::max(0., std::max(a - line.per_item * static_cast<double>(items_a),
                                     b - line.per_item * static_cast<double>(items_b)));
  return line;
}

double predicted_ns_per_item(const split_problem& p, std::int64_t items) noexcept {
  const auto item = p.item_ns > 0 ? p.item_ns : unknown_item_ns;
  const auto spread = p.need.per_item * static_cast<double>(items) <= comfortable_bytes ? 1 : slower_beyond;
  return part_ns / static_cast<double>(items) + item * spread;
}

batch_split choose_split(const split_problem& p) {
  batch_split made;
  std::int64_t most = 0;
  for (made.in_flight = std::max(1U, p.in_flight); made.in_flight > 0; --made.in_flight)
    if ((most = p.need.most_items(p.bytes / made.in_flight)) > 0)
      break;
  if (made.in_flight == 0)
    return made;
  // Every lane has a share of the work.
  most = std::min(most, (p.items + made.in_flight - 1) / made.in_flight);
  std::vector<std::int64_t> sizes{most};
  for (std::int64_t n = 1; n < most; n *= 2)
    if (p.need.per_item * static_cast<double>(n) >= smallest_bytes)
      sizes.push_back(n);
  made.items = *std::min_element(sizes.begin(), sizes.end(), [&](auto a, auto b) {
    const auto x = predicted_ns_per_item(p, a);
    const auto y = predicted_ns_per_item(p, b);
    // As good as the best is good enough, and smaller parts leave room for others.
    return std::abs(x - y) <= gain_worth_it * std::min(x, y) ? a < b : x < y;
  });
  for (auto n = made.items; n > 0 && made.worth_try.size() < 2; n /= size_ratio)
    made.worth_try.push_back(n);
  for (auto n = made.items; n < most && made.worth_try.size() < 5;) {
    n = n > most / size_ratio ? most : n * size_ratio;
    made.worth_try.push_back(n);
  }
  std::sort(made.worth_try.begin(), made.worth_try.end());
  return made;
}

split_search::split_search(batch_split start) : sizes_(std::move(start.worth_try)) {
  if (sizes_.empty())
    sizes_.push_back(std::max<std::int64_t>(1, start.items));
  now_ =
      static_cast<std::size_t>(std::lower_bound(sizes_.begin(), sizes_.end(), start.items) - sizes_.begin());
  settled_ = sizes_.size() == 1;
}

std::size_t split_search::best() const {
  auto found = now_;
  auto least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < sizes_.size(); ++i)
    if (const auto t = times_.find(sizes_[i]); t != times_.end() && t->second < least * (1 - gain_worth_it)) {
      least = t->second;
      found = i;
    }
  return found;
}

void split_search::measured(double ns_per_item) {
  if (settled_)
    return;
  if (!warm_) {
    warm_ = true;
    return;
  }
  times_[sizes_[now_]] = ns_per_item;
  const auto b = best();
  if (b + 1 < sizes_.size() && !known(b + 1))
    now_ = b + 1;
  else if (b > 0 && !known(b - 1))
    now_ = b - 1;
  else
    settle();
}

void split_search::settle() {
  now_ = best();
  settled_ = true;
}

void split_search::forbid_above(std::int64_t items) {
  const auto current = sizes_[now_];
  std::erase_if(sizes_, [items](auto n) { return n > items; });
  std::erase_if(times_, [items](const auto& t) { return t.first > items; });
  if (sizes_.empty() || sizes_.back() < std::min(current, items))
    sizes_.push_back(std::min(current, items));
  now_ = sizes_.size() - 1;
  settle();
}

} // namespace sluice
