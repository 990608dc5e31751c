#pragma once

#include <sluice/devices/cpu_crew.hpp>
#include <sluice/devices/executor.hpp>
#include <sluice/devices/job_queue.hpp>
#include <sluice/devices/work_deque.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace sluice {

class cpu_pool;

/// A place at which a thread works for a pool: the worker that jobs see, with a deque that others steal from.
/// Whoever claimed the seat, worker or guest, is its owner until it leaves. Internal to `devices/`.
class cpu_seat final : public worker {
public:
  cpu_seat(cpu_pool& pool, unsigned number) : pool_(pool), number_(number) {}

  void offer(job& j) override;
  [[nodiscard]] bool has_company() const noexcept override;
  [[nodiscard]] bool has_idle_company() const noexcept override;
  [[nodiscard]] bool is_needed() const noexcept override;
  void parallel_for(std::size_t n, std::size_t grain, unsigned width,
                    function_ref<void(std::size_t, std::size_t)> body) override;
  bool try_team(unsigned size, function_ref<void(unsigned, unsigned)> body) override;

  /// Runs jobs of the pool until there are none, or others need the thread more.
  void work_on();

  /// Runs `first`, then what its deque holds.
  void work_as_guest(job& first);

  [[nodiscard]] cpu_pool& pool() noexcept { return pool_; }

  /// Runs an errand on this thread.
  void run_errand(errand& what);

private:
  friend class cpu_pool;

  [[nodiscard]] job* next();
  [[nodiscard]] job* steal();

  cpu_pool& pool_;
  const unsigned number_;
  unsigned ticks_ = 0;
  work_deque<job> jobs_;
};

/// Jobs that at most `limit` threads work on at once; the executor that sessions see. Internal to `devices/`.
class cpu_pool final : public executor, public std::enable_shared_from_this<cpu_pool> {
public:
  /// @param limit  0: as many threads as the budget has
  cpu_pool(std::shared_ptr<cpu_crew> crew, unsigned limit);
  ~cpu_pool() override;

  void submit(job& j) override;
  bool try_guest(job& first) override;
  [[nodiscard]] unsigned concurrency() const noexcept override;
  void begin_burst() noexcept override { crew_->begin_burst(); }
  void end_burst() noexcept override { crew_->end_burst(); }

  [[nodiscard]] cpu_crew& crew() noexcept { return *crew_; }

  /// A free seat for the calling thread, or null if the limit is reached.
  [[nodiscard]] cpu_seat* claim_seat();

  /// Gives a seat back. The caller must then look for jobs in the pool, or call notify_if_work().
  void leave(cpu_seat& seat);

  /// Whether there may be a job and a seat for it. Order it after what it is to see by a fence.
  [[nodiscard]] bool wants_worker() const noexcept { return has_jobs() && !full(); }

  /// Calls a worker if wants_worker().
  void notify_if_work() {
    if (wants_worker())
      crew_->places().notify();
  }

  /// The last user is gone: forgotten once its jobs are run.
  void close();

private:
  friend class cpu_seat;

  static constexpr unsigned words = cpu_crew::max_threads / 64;

  [[nodiscard]] bool has_jobs() const noexcept;
  [[nodiscard]] bool has_submitted() const noexcept {
    return submitted_count_.load(std::memory_order_acquire) != 0;
  }
  [[nodiscard]] bool full() const noexcept;
  [[nodiscard]] bool deserted() const noexcept;
  [[nodiscard]] std::uint64_t seats_in_word(unsigned word) const noexcept;
  [[nodiscard]] cpu_seat* seat(unsigned number) noexcept;
  [[nodiscard]] job* take_submitted();

  const std::shared_ptr<cpu_crew> crew_;
  const unsigned limit_;
  const unsigned seat_count_;
  std::atomic<bool> closed_{false};

  std::array<std::atomic<std::uint64_t>, words> taken_{}; // a bit a seat
  std::array<std::atomic<cpu_seat*>, cpu_crew::max_threads> seats_{};
  std::atomic<unsigned> seats_made_{0}; // no seat has a number from here on
  std::mutex seats_mutex_;              // held to make one

  alignas(64) std::mutex submitted_mutex_;
  job_queue submitted_; // guarded by submitted_mutex_
  std::atomic<std::size_t> submitted_count_{0};
};

} // namespace sluice
