#pragma once

#include <sluice/devices/executor.hpp>
#include <sluice/graph/export.hpp>

#include <cstdint>
#include <mutex>
#include <random>
#include <vector>

namespace sluice {

/// An executor without threads, for tests: jobs wait in one list until step() runs one of them, picked by a
/// seed. The same seed and the same calls give the same order.
///
/// Jobs are run by whoever calls step(); submit() may be called from any thread.
class SLUICE_API stepped_executor final : public executor {
public:
  explicit stepped_executor(std::uint64_t seed);
  ~stepped_executor() override;

  void submit(job& j) override;

  /// Always false: a guest's frame would not be stepped.
  bool try_guest(job&) override { return false; }

  [[nodiscard]] unsigned concurrency() const noexcept override { return 1; }
  [[nodiscard]] bool stepped() const noexcept override { return true; }

  /// Runs one of the waiting jobs. False if there is none.
  bool step();

  /// Steps until no job waits; returns how many ran.
  std::size_t run_all();

  [[nodiscard]] std::size_t waiting() const;

private:
  mutable std::mutex mutex_;
  std::vector<job*> jobs_; // guarded by mutex_
  std::mt19937_64 random_; // guarded by mutex_
};

} // namespace sluice
