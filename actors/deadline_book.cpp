#include <sluice/actors/deadline_book.hpp>

#include <algorithm>

namespace sluice {

void deadline_book::note(run_state& r) {
  if (!r.deadline)
    return;
  const auto [first, last] = by_time_.equal_range(*r.deadline);
  if (std::none_of(first, last, [&](const auto& entry) { return entry.second.get() == &r; }))
    by_time_.emplace(*r.deadline, intrusive_ptr<run_state>{&r});
}

void deadline_book::forget(run_state& r) {
  if (!r.deadline)
    return;
  const auto [first, last] = by_time_.equal_range(*r.deadline);
  const auto at = std::find_if(first, last, [&](const auto& entry) { return entry.second.get() == &r; });
  if (at != last)
    by_time_.erase(at);
}

std::optional<deadline_book::time_point> deadline_book::look_at() {
  // Somebody is on the way once at most, but for those that an earlier deadline overtook.
  if (by_time_.empty() || (next_look_ && *next_look_ <= by_time_.begin()->first))
    return std::nullopt;
  next_look_ = by_time_.begin()->first;
  return next_look_;
}

std::vector<intrusive_ptr<run_state>> deadline_book::take_late(time_point now) {
  if (next_look_ && *next_look_ <= now)
    next_look_.reset();
  std::vector<intrusive_ptr<run_state>> late;
  const auto end = by_time_.upper_bound(now);
  for (auto at = by_time_.begin(); at != end; ++at)
    late.push_back(std::move(at->second));
  by_time_.erase(by_time_.begin(), end);
  return late;
}

} // namespace sluice
