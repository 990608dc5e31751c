#include <sluice/actors/cut_schedule.hpp>

#include <algorithm>

namespace sluice {

namespace {

/// Parts of a wave for each that runs at once: enough to see how they overlap.
constexpr std::uint32_t rounds_in_wave = 2;
/// And at least so long: other programs take the processor now and then.
constexpr std::chrono::milliseconds shortest_wave{20};
/// Sizes are tried with this share of the items at most: the others are to profit from it.
constexpr std::int64_t share_for_trying = 3;

} // namespace

cut_schedule::cut_schedule(std::int64_t items, std::int64_t first)
  : items_(items), search_({.in_flight = 1, .items = first, .worth_try = {}}), most_in_flight_(1) {}

void cut_schedule::decide(const batch_split& split) {
  decided_ = true;
  search_ = split_search{split};
  most_in_flight_ = std::max(1U, split.in_flight);
}

std::optional<std::int64_t> cut_schedule::next_items() {
  if (stopped_ || failure_ || in_flight_ == most_in_flight_)
    return std::nullopt;
  if (!again_.empty())
    return again_.back().items;
  if (next_ == items_)
    return std::nullopt;
  const auto in_wave = rounds_in_wave * most_in_flight_;
  if (trying() && wave_parts_ == 0 && next_ + in_wave * search_.items() > items_ / share_for_trying)
    search_.settle();
  if (trying() && wave_ends_)
    return std::nullopt;
  return std::min(search_.items(), items_ - next_);
}

cut_schedule::part cut_schedule::start(time_point now) {
  const auto items = *next_items();
  ++in_flight_;
  ++parts_;
  if (!again_.empty()) {
    auto p = again_.back();
    again_.pop_back();
    p.started = now;
    return p;
  }
  if (trying()) {
    if (wave_parts_++ == 0)
      wave_began_ = now;
  }
  const part p{next_, items, now};
  next_ += items;
  return p;
}

void cut_schedule::ended(const part& p, time_point now) {
  --in_flight_;
  if (!trying())
    return;
  const std::chrono::duration<double, std::nano> took = now - p.started;
  wave_times_.push_back(took.count() / static_cast<double>(p.items) / most_in_flight_);
  wave_ends_ =
      wave_ends_ || (wave_parts_ >= rounds_in_wave * most_in_flight_ && now - wave_began_ >= shortest_wave);
  if (!wave_ends_ || in_flight_ > 0)
    return;
  // The median: some parts meet other programs, the first ones memory that is fresh.
  const auto middle = wave_times_.begin() + static_cast<std::ptrdiff_t>(wave_times_.size() / 2);
  std::nth_element(wave_times_.begin(), middle, wave_times_.end());
  search_.measured(*middle);
  wave_times_.clear();
  wave_parts_ = 0;
  wave_ends_ = false;
}

void cut_schedule::succeeded(const part& p, time_point now) {
  ended(p, now);
}

void cut_schedule::failed(const part& p, std::exception_ptr why) {
  --in_flight_;
  if (failure_ && p.first > failed_first_)
    return;
  failure_ = std::move(why);
  failed_first_ = p.first;
}

bool cut_schedule::too_large(const part& p) {
  if (p.items == 1)
    return false;
  --in_flight_;
  most_in_flight_ = 1;
  const auto half = p.items / 2;
  search_.forbid_above(std::max<std::int64_t>(1, half));
  again_.push_back({p.first + half, p.items - half, {}});
  again_.push_back({p.first, half, {}});
  return true;
}

bool cut_schedule::finished() const noexcept {
  return in_flight_ == 0 && (stopped_ || failure_ || (next_ == items_ && again_.empty()));
}

} // namespace sluice
