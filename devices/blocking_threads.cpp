#include <sluice/devices/blocking_threads.hpp>
#include <sluice/devices/lone_worker.hpp>

#include <algorithm>
#include <pthread.h>
#include <string>

namespace sluice {

class blocking_threads::alone final : public lone_worker {
public:
  explicit alone(blocking_threads& home) : home_(home) {}
  void offer(job& j) override { home_.submit(j); }

private:
  blocking_threads& home_;
};

blocking_threads::blocking_threads(unsigned cap, std::chrono::milliseconds patience)
  : cap_(std::max(1U, cap)), patience_(patience) {}

blocking_threads::~blocking_threads() {
  std::unique_lock lock{mutex_};
  closing_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return running_.empty(); });
  for (auto& t : ended_)
    t.join();
}

std::size_t blocking_threads::size() const {
  const std::lock_guard lock{mutex_};
  return running_.size();
}

void blocking_threads::submit(job& j) {
  const std::lock_guard lock{mutex_};
  if (queued_ >= idle_ && running_.size() < cap_)
    start_thread(); // before the job is queued, so that a failure leaves nothing behind
  jobs_.push(j);
  ++queued_;
  changed_.notify_one();
}

void blocking_threads::start_thread() {
  for (auto& t : ended_)
    t.join(); // they hold no lock any more and are about to return
  ended_.clear();
  const auto self = running_.emplace(running_.end());
  try {
    *self = std::thread{[this, self] { work(self); }};
  } catch (...) {
    running_.erase(self);
    if (running_.empty())
      throw;
    return; // the others will get to it
  }
  pthread_setname_np(self->native_handle(), ("sluice-b" + std::to_string(started_++ % 1000)).c_str());
}

void blocking_threads::work(thread_list::iterator self) {
  alone here{*this};
  std::unique_lock lock{mutex_};
  for (;;) {
    ++idle_;
    const bool called = changed_.wait_for(lock, patience_, [&] { return queued_ != 0 || closing_; });
    --idle_;
    if (!called || queued_ == 0)
      break;
    auto* j = jobs_.pop();
    --queued_;
    lock.unlock();
    here.run(*j);
    lock.lock();
  }
  ended_.splice(ended_.end(), running_, self);
  if (running_.empty())
    changed_.notify_all();
}

} // namespace sluice
