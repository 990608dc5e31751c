#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace sluice::bench {

using clock = std::chrono::steady_clock;

[[nodiscard]] inline double ns_since(clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(clock::now() - begin).count();
}

/// Work that takes a given time on this machine and touches no memory. Calibrated once.
class spin_work {
public:
  explicit spin_work(double ns) : rounds_(static_cast<std::uint64_t>(ns * rounds_per_ns())) {}
  void operator()() const { burn(rounds_); }

private:
  static void burn(std::uint64_t rounds) {
    std::uint64_t x = rounds | 1;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      asm volatile("" ::"r"(x));
    }
  }
  static double rounds_per_ns() {
    static const double rate = [] {
      double best = 1e18;
      for (int r = 0; r < 7; ++r) {
        const auto begin = clock::now();
        burn(2'000'000);
        best = std::min(best, ns_since(begin));
      }
      return 2e6 / best;
    }();
    return rate;
  }
  const std::uint64_t rounds_;
};

} // namespace sluice::bench
