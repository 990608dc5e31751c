#pragma once

#include <sluice/devices/executor.hpp>
#include <sluice/devices/job_queue.hpp>
#include <sluice/graph/export.hpp>

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

namespace sluice {

/// Threads for functions that block, as their authors declared. They hold no token of the CPU budget, are
/// made when a job finds none idle, up to a cap, and leave when they had nothing to do for a while.
///
/// Such a thread's worker computes alone: parallel_for() does not spread, teams have one member, and what a
/// job offers is queued here. What should be computed belongs to a pool of cpu_threads.
///
/// @threadsafe all members.
class SLUICE_API blocking_threads final : public executor {
public:
  static constexpr unsigned default_cap = 64;
  static constexpr std::chrono::milliseconds default_patience{10'000};

  /// @param cap       the most threads at once; jobs beyond wait their turn
  /// @param patience  how long a thread stays without a job
  explicit blocking_threads(unsigned cap = default_cap,
                            std::chrono::milliseconds patience = default_patience);

  /// Runs what is queued, and waits for it.
  ~blocking_threads() override;

  void submit(job& j) override;

  /// Always false: a job that blocks is never run on the caller's thread.
  bool try_guest(job&) override { return false; }

  [[nodiscard]] unsigned concurrency() const noexcept override { return cap_; }

  /// How many threads there are now.
  [[nodiscard]] std::size_t size() const;

private:
  class alone;
  using thread_list = std::list<std::thread>;

  void work(thread_list::iterator self);
  void start_thread();

  const unsigned cap_;
  const std::chrono::milliseconds patience_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  job_queue jobs_;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;
  unsigned started_ = 0;
  bool closing_ = false;
  thread_list running_;
  thread_list ended_; // to be joined
};

} // namespace sluice
