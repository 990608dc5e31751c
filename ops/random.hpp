#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string_view>

namespace sluice::ops {

/// A stream of random numbers: MT19937, with uniforms of 53 bits and normals by the polar method, so that a
/// seed gives the numbers that numpy's RandomState gives for it.
class random_stream {
public:
  explicit random_stream(std::uint32_t seed) : engine_(seed) {}

  /// The stream of a node: from the seed that it states, otherwise from the firing's and its own name.
  random_stream(std::optional<std::uint32_t> stated, std::uint64_t firing, std::uint64_t node)
    : random_stream(stated ? *stated : mixed(firing, node)) {}

  /// In [0, 1).
  double uniform() {
    const auto high = engine_() >> 5; // 27 bits
    const auto low = engine_() >> 6;  // 26 bits
    return (static_cast<double>(high) * 0x1p26 + static_cast<double>(low)) / 0x1p53;
  }

  /// Of mean 0 and deviation 1.
  double normal() {
    if (spare_) {
      const auto x = *spare_;
      spare_.reset();
      return x;
    }
    for (;;) {
      const auto x = 2 * uniform() - 1;
      const auto y = 2 * uniform() - 1;
      const auto r = x * x + y * y;
      if (r >= 1 || r == 0)
        continue;
      const auto scale = std::sqrt(-2 * std::log(r) / r);
      spare_ = scale * x;
      return scale * y;
    }
  }

private:
  static std::uint32_t mixed(std::uint64_t firing, std::uint64_t node) {
    auto x = firing * 0x9e3779b97f4a7c15u + node; // the finaliser of splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::uint32_t>(x ^ (x >> 31));
  }

  std::mt19937 engine_;
  std::optional<double> spare_;
};

} // namespace sluice::ops
