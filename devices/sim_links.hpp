#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

namespace sluice {

class sim_clock;

/// One direction of a simulated device's link: carries one transfer at a time. Guarded by its sim_links.
class sim_link {
  friend class sim_links;
  bool busy_ = false;
};

/// Transfers over links in virtual time. Those that meet on a link follow one another in the order in which
/// they came, as the engines of real devices do; a transfer between two devices holds a link of each for all
/// its time.
///
/// @threadsafe all members.
class sim_links {
public:
  using link_ptr = std::shared_ptr<sim_link>;

  /// Has `done` called by `clock`, whose links these are, when `first` and `second` (null: there is none)
  /// have carried a transfer that takes them `time`. `done` finds them free.
  void carry(sim_clock& clock, link_ptr first, link_ptr second, std::chrono::nanoseconds time,
             std::function<void()> done);

private:
  struct transfer {
    link_ptr first;
    link_ptr second;
    std::chrono::nanoseconds time;
    std::function<void()> done;
  };

  void begin_what_can(sim_clock& clock);

  std::mutex mutex_;
  std::list<transfer> waiting_; // guarded by mutex_
};

} // namespace sluice
