#pragma once

#include <sluice/actors/run_state.hpp>

#include <map>
#include <optional>
#include <vector>

namespace sluice {

/// The requests of a session that have a deadline, by time, and when somebody is to look at them. No threads:
/// the session calls it under its lock.
class deadline_book {
public:
  using time_point = run_state::clock::time_point;

  /// Notes the deadline of `r`, if it has one and is not noted.
  void note(run_state& r);
  /// Before the deadline of `r` is changed, and when it matters no more.
  void forget(run_state& r);
  void clear() { by_time_.clear(); }

  /// When somebody must look again, if that is earlier than what look_at() said before: the caller sees to
  /// it. None if there is no deadline, or somebody comes in time.
  [[nodiscard]] std::optional<time_point> look_at();
  /// Takes out who is late. Called by whoever looks, as look_at() asked.
  [[nodiscard]] std::vector<intrusive_ptr<run_state>> take_late(time_point now);

private:
  std::multimap<time_point, intrusive_ptr<run_state>> by_time_;
  std::optional<time_point> next_look_;
};

} // namespace sluice
