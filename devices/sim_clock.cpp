#include <sluice/devices/sim_clock.hpp>

#include <sluice/devices/device_event.hpp>
#include <sluice/devices/sim_links.hpp>
#include <sluice/graph/error.hpp>

#include <algorithm>
#include <utility>

namespace sluice {

namespace {
thread_local unsigned own_calls = 0; // in progress on this thread, whatever the clock
}

/// The right to move the clock.
class sim_clock::moving {
public:
  explicit moving(sim_clock& clock) : clock_(clock) {
    // Only this thread can have written its own id, so a relaxed read tells.
    if (clock.mover_.load(std::memory_order_relaxed) == std::this_thread::get_id())
      throw error{errc::blocking_call,
                  "what happens on a simulated clock must not move the clock or wait for it"};
    clock.moving_.lock();
    clock.mover_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  moving(const moving&) = delete;
  moving& operator=(const moving&) = delete;
  ~moving() {
    clock_.mover_.store(std::thread::id{}, std::memory_order_relaxed);
    clock_.moving_.unlock();
  }

private:
  sim_clock& clock_;
};

std::shared_ptr<sim_clock> sim_clock::make(std::uint64_t seed) {
  return std::shared_ptr<sim_clock>{new sim_clock{seed}};
}

sim_clock::sim_clock(std::uint64_t seed)
  : seeded_(seed != 0), random_(seed), links_(std::make_unique<sim_links>()) {}

sim_clock::~sim_clock() = default;

sim_clock::duration sim_clock::now() const {
  const std::lock_guard lock{mutex_};
  return now_;
}

bool sim_clock::later(const entry& a, const entry& b) noexcept {
  if (a.when != b.when)
    return a.when > b.when;
  return a.tie != b.tie ? a.tie > b.tie : a.number > b.number;
}

void sim_clock::at(duration when, std::function<void()> f) {
  const std::lock_guard lock{mutex_};
  to_come_.push_back({std::max(when, now_), seeded_ ? random_() : 0, scheduled_++, std::move(f)});
  std::push_heap(to_come_.begin(), to_come_.end(), later);
  if (calls_ > 0)
    calm_.notify_all();
}

void sim_clock::after(duration delay, std::function<void()> f) {
  at(now() + delay, std::move(f));
}

bool sim_clock::step_until(duration limit) {
  std::function<void()> happens;
  {
    const std::lock_guard lock{mutex_};
    if (to_come_.empty() || to_come_.front().when > limit)
      return false;
    std::pop_heap(to_come_.begin(), to_come_.end(), later);
    now_ = to_come_.back().when;
    happens = std::move(to_come_.back().happens);
    to_come_.pop_back();
  }
  happens();
  return true;
}

bool sim_clock::step() {
  const moving right{*this};
  return step_until(duration::max());
}

void sim_clock::advance(duration d) {
  const moving right{*this};
  const auto limit = now() + std::max(d, duration{0});
  while (step_until(limit)) {
  }
  const std::lock_guard lock{mutex_};
  now_ = limit;
}

void sim_clock::drain() {
  const moving right{*this};
  while (step_until(duration::max())) {
  }
}

sim_clock::call::call(sim_clock* clock) noexcept : clock_(clock) {
  if (!clock_)
    return;
  ++own_calls;
  const std::lock_guard lock{clock_->mutex_};
  ++clock_->calls_;
}

sim_clock::call::~call() {
  if (!clock_)
    return;
  --own_calls;
  const std::lock_guard lock{clock_->mutex_};
  if (--clock_->calls_ == 0)
    clock_->calm_.notify_all();
}

bool sim_clock::step_until_done(const device_event& e) {
  if (own_calls > 0)
    throw error{errc::blocking_call, "an event's callback must not wait for a simulated clock"};
  while (!e.done()) {
    // What leads to the event was enqueued before it: by calls that have ended, if none is in progress now.
    bool calm = false;
    {
      const std::lock_guard lock{mutex_};
      calm = calls_ == 0;
    }
    if (step() || e.done())
      continue;
    if (calm)
      return false;
    std::unique_lock lock{mutex_};
    calm_.wait(lock, [&] { return calls_ == 0 || !to_come_.empty(); });
  }
  return true;
}

} // namespace sluice
