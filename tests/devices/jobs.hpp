#pragma once

#include <sluice/devices/executor.hpp>

#include <atomic>
#include <functional>
#include <latch>
#include <utility>

namespace sluice::test {

/// A function as a job.
struct function_job final : job {
  explicit function_job(std::function<void(worker&)> f) : function(std::move(f)) {}
  void run(worker& here) noexcept override { function(here); }
  std::function<void(worker&)> function;
};

/// Submits `f` and waits until it has returned.
inline void run_in(executor& pool, const std::function<void(worker&)>& f) {
  std::latch done{1};
  function_job j{[&](worker& here) {
    f(here);
    done.count_down();
  }};
  pool.submit(j);
  done.wait();
}

/// Counts how many are inside at once.
class gauge {
public:
  /// Goes in, does something that takes a while, and leaves.
  void pass() {
    const auto now = inside_.fetch_add(1) + 1;
    for (auto seen = most_.load(); seen < now && !most_.compare_exchange_weak(seen, now);) {
    }
    for (unsigned i = 0; i < 300; ++i)
      sink_.store(i, std::memory_order_relaxed); // the compiler cannot leave it out
    inside_.fetch_sub(1);
  }
  [[nodiscard]] unsigned most() const { return most_; }

private:
  std::atomic<unsigned> inside_{0};
  std::atomic<unsigned> most_{0};
  std::atomic<unsigned> sink_{0};
};

} // namespace sluice::test
