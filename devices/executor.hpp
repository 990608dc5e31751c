#pragma once

#include <sluice/graph/export.hpp>
#include <sluice/graph/function_ref.hpp>

#include <cstddef>

namespace sluice {

class worker;

/// A piece of work for a CPU thread. Intrusive: nothing is allocated to submit one.
///
/// Lifetime: whoever submits a job keeps it alive until run() is entered. The executor does not touch it
/// from then on, so run() may submit it again, reuse it or destroy it.
class job {
public:
  /// Does the work. Must not block (see `blocking_threads` for what must).
  virtual void run(worker& here) noexcept = 0;

protected:
  ~job() = default;

private:
  friend class job_queue;
  job* next_ = nullptr; // while queued
};

/// The thread that runs a job, as the job sees it: a pool's own thread, or a guest.
class SLUICE_API worker {
public:
  /// Makes `j` runnable by any thread of the same pool, and wakes one if it may run: this worker takes its
  /// newest offer first, others take the oldest.
  virtual void offer(job& j) = 0;

  /// Whether another thread is awake, so that it may take an offer without being woken first. A hint.
  [[nodiscard]] virtual bool has_company() const noexcept { return true; }
  /// Whether another thread has nothing to do, so that it may take an offer, perhaps woken first. A hint.
  [[nodiscard]] virtual bool has_idle_company() const noexcept { return true; }
  /// Whether this thread had better return from its job: others wait that it could run, or its CPU is wanted
  /// elsewhere. A hint.
  [[nodiscard]] virtual bool is_needed() const noexcept { return true; }

  /// Calls `body(begin, end)` for consecutive chunks of [0, n) of `grain` items (the last may be shorter),
  /// on this thread and at most `width - 1` idle ones, and returns when all are done. Chunks depend on
  /// `n` and `grain` alone, so a result that depends on them does not depend on the load. The first exception
  /// of `body` is rethrown here; chunks not begun by then are left out.
  virtual void parallel_for(std::size_t n, std::size_t grain, unsigned width,
                            function_ref<void(std::size_t begin, std::size_t end)> body) = 0;

  /// Runs `body(rank, size)` on exactly `size` threads at once, this one being rank 0, and returns when all
  /// are done. Returns false, without a call, where that many threads are not free now, or, since others use
  /// the cores, do not come within some ten microseconds. Only rank 0 may throw; the others must still come
  /// to an end then.
  [[nodiscard]] virtual bool try_team(unsigned size,
                                      function_ref<void(unsigned rank, unsigned size)> body) = 0;

  /// The calling thread's worker while it runs a job; null on any other thread.
  [[nodiscard]] static worker* current() noexcept;

protected:
  ~worker() = default;
  static void set_current(worker* w) noexcept;
};

/// Where jobs go to be run. @threadsafe all members.
class SLUICE_API executor {
public:
  virtual ~executor() = default;

  /// Queues `j`, first in, first out; wakes a thread if one may run it. Never blocks, never runs it here.
  virtual void submit(job& j) = 0;

  /// Runs `first`, and then whatever it and its successors offer that nobody else has taken, on the calling
  /// thread as a guest, if the CPU budget and the pool's limit have room for it now. Returns false without
  /// running anything if they have not, or if the caller is a worker already.
  [[nodiscard]] virtual bool try_guest(job& first) = 0;

  /// How many threads may run jobs of this executor at once, at most.
  [[nodiscard]] virtual unsigned concurrency() const noexcept = 0;

  /// Between begin_burst() and end_burst() work is expected at any moment: one idle thread spins for about a
  /// millisecond before it parks. Calls nest and may come from any thread.
  virtual void begin_burst() noexcept {}
  virtual void end_burst() noexcept {}

  /// True where each delivery is to be a job of its own, so that a test decides the order of events.
  [[nodiscard]] virtual bool stepped() const noexcept { return false; }
};

} // namespace sluice
