#pragma once

#include <sluice/devices/atomics.hpp>

#include <atomic>
#include <cstdint>

namespace sluice {

/// The parallel regions of one library kernel: rank 0 opens them one after another, the other members serve
/// them. Internal to `devices/`.
class openmp_regions {
public:
  using function = void (*)(void*);

  /// @param width  members, rank 0 included
  explicit openmp_regions(unsigned width) noexcept : width_(width) {}

  [[nodiscard]] unsigned width() const noexcept { return width_; }

  /// Calls `f(data)` on the members of ranks below `size`, and returns when all are done. Only rank 0.
  void run(function f, void* data, unsigned size) noexcept;

  /// Takes part in the regions until close(). Only ranks above 0, each once.
  void serve(unsigned rank) noexcept;

  /// No region follows. Only rank 0.
  void close() noexcept;

  /// Waits for the other members of the present region.
  void barrier() noexcept;

private:
  void open() noexcept;
  [[nodiscard]] std::uint32_t wait_past(std::uint32_t seen) noexcept;

  const unsigned width_;
  // The region at hand; written by rank 0 before `opened_` is raised, when nobody reads it.
  function function_ = nullptr;
  void* data_ = nullptr;
  unsigned size_ = 0;
  bool closed_ = false;

  alignas(64) std::atomic<std::uint32_t> opened_{0};
  std::atomic<unsigned> sleeping_{0};
  alignas(64) std::atomic<unsigned> left_{0};
  alignas(64) std::atomic<unsigned> waiting_{0};
  std::atomic<std::uint32_t> passed_{0};
};

/// What OpenMP's functions answer on the calling thread.
struct openmp_view {
  unsigned width = 0;                ///< 0: not Sluice's business, ask libgomp
  openmp_regions* regions = nullptr; ///< who serves this thread's regions; null: it alone
  unsigned rank = 0;
  unsigned size = 1;
  bool in_parallel = false;

  [[nodiscard]] static openmp_view& here() noexcept;

  /// Runs a region as this view says.
  static void run_region(openmp_regions::function f, void* data, unsigned threads) noexcept;
};

} // namespace sluice
