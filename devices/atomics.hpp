#pragma once

#include <sluice/graph/export.hpp>

#include <atomic>
#include <cstdint>
#if defined(__x86_64__)
#  include <immintrin.h>
#endif

namespace sluice {

/// The atomic operations that lock-free pieces are built from. They take it as a template parameter, so that a
/// test can put in one that decides the interleaving.
struct SLUICE_API native_atomics {
  template <class T>
  using atomic = std::atomic<T>;

  /// Orders a store before it against a load after it, for all threads.
  static void full_fence() noexcept {
#if defined(__SANITIZE_THREAD__)
    // ThreadSanitizer does not know fences. This is one on x86, and makes no edge that could hide a race.
    std::atomic<int> own{0};
    own.exchange(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }

  /// Tells the processor that this thread spins.
  static void pause() noexcept {
#if defined(__x86_64__)
    _mm_pause();
#endif
  }

  /// Spins until `word` is `value`; for waits of nanoseconds.
  static void spin_until(const atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
    while (word.load(std::memory_order_acquire) != value)
      pause();
  }

  /// Sleeps while `word` is `value`; may return early.
  static void sleep_while(atomic<std::uint32_t>& word, std::uint32_t value) noexcept;

  /// Wakes one, or every, thread that sleeps on `word`.
  static void wake_one(atomic<std::uint32_t>& word) noexcept;
  static void wake_all(atomic<std::uint32_t>& word) noexcept;
};

} // namespace sluice
