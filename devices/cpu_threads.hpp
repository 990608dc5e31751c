#pragma once

#include <sluice/devices/executor.hpp>
#include <sluice/graph/export.hpp>

#include <memory>
#include <string>

namespace sluice {

class cpu_crew;

/// The CPU threads of a process and their budget: at any moment at most budget() threads compute or spin, workers,
/// guests and members of teams together. Idle threads sleep without a timeout.
///
/// Pools say whose jobs a thread works on. A pool limits how many of the threads, guests included, work for it at
/// once, and reserves none, so that limits may sum up to more than the budget.
///
/// Lifetime: a pool keeps what it needs alive, but nothing runs in it once its cpu_threads has gone: submit() then
/// throws. A pool that is let go with jobs in it is forgotten when they have run.
///
/// @threadsafe all members.
class SLUICE_API cpu_threads {
public:
  /// The most threads that a budget may have.
  static constexpr unsigned max_budget = 512;

  /// The process's own. It has usable_cpus() threads at first, is made when first asked for, and lives for ever, so
  /// that no destructor of a static object finds it gone.
  [[nodiscard]] static cpu_threads& process();

  /// Threads of one's own, for tests and measurements: a process should have one budget.
  /// @param budget  1 to max_budget; 0 means usable_cpus()
  explicit cpu_threads(unsigned budget);

  /// Runs what is queued, and ends the threads. No guest may be at work, and nobody else may submit any more.
  ~cpu_threads();

  cpu_threads(const cpu_threads&) = delete;
  cpu_threads& operator=(const cpu_threads&) = delete;

  /// How many threads may compute or spin at once, now.
  [[nodiscard]] unsigned budget() const noexcept;

  /// Changes the budget at any time; 0 means usable_cpus(). When it shrinks, workers leave after the job that they
  /// are at, and guests when their frame is done.
  void resize(unsigned budget);

  /// The pool of those who did not ask for one; no limit of its own.
  [[nodiscard]] std::shared_ptr<executor> default_pool() const;

  /// The pool of that name, made if nobody holds one.
  /// @param limit  0: the whole budget
  /// @throws std::invalid_argument if there is one with another limit
  [[nodiscard]] std::shared_ptr<executor> named_pool(const std::string& name, unsigned limit);

  /// A pool that nobody else gets.
  [[nodiscard]] std::shared_ptr<executor> private_pool(unsigned limit);

  /// Threads that compute or spin now.
  [[nodiscard]] unsigned active() const noexcept;

  /// The most that did at once, since the last reset_peak().
  [[nodiscard]] unsigned peak_active() const noexcept;
  void reset_peak() noexcept;

private:
  struct pool_register;

  const std::shared_ptr<cpu_crew> crew_;
  const std::unique_ptr<pool_register> pools_;
};

/// How many CPUs this process may use: the least of the hardware's, its affinity mask's and its control group's
/// quota (rounded up); at least 1.
[[nodiscard]] SLUICE_API unsigned usable_cpus();

} // namespace sluice
