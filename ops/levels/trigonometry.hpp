#pragma once

#include <sluice/ops/levels/functions.hpp>

#include <cstddef>

namespace sluice::ops::SLUICE_LEVEL {

/// Up to here the steps of a quarter turn times the parts of π/2 below are exact.
inline constexpr float largest_reduced = 8000.0f;

/// sin(x + quarters · π/2) for |x| <= largest_reduced.
inline float sine_of(float x, std::uint32_t quarters) {
  constexpr float shifter = 12582912.0f; // as in exp_of
  const auto shifted = x * 0.636619772f + shifter;
  const auto n = shifted - shifter;
  // π/2 in parts of 12 bits and a rest.
  const auto r =
      x - n * 1.5703125f - n * 4.837512969970703e-4f - n * 7.549533620476723e-8f - n * 2.563283e-12f;
  const auto z = r * r;
  auto s = 2.717564485e-06f;
  s = s * z - 1.983925613e-04f;
  s = s * z + 8.333329111e-03f;
  s = s * z - 1.666666716e-01f;
  const auto sine = r + r * (z * s);
  auto c = 2.443120320e-05f;
  c = c * z - 1.388730598e-03f;
  c = c * z + 4.166664556e-02f;
  const auto cosine = 1.0f - 0.5f * z + z * z * c;
  const auto quadrant = to_bits(shifted) - to_bits(shifter) + quarters;
  const auto y = (quadrant & 1u) != 0 ? cosine : sine;
  return from_bits(to_bits(y) ^ ((quadrant & 2u) << 30));
}

/// y = sin(x + Quarters · π/2); what is too large for sine_of goes to the C library, element by element.
template <std::uint32_t Quarters>
void sine_loop(const float* x, float* y, std::size_t n) {
  constexpr std::size_t block = 256;
  for (std::size_t first = 0; first < n; first += block) {
    const auto m = n - first < block ? n - first : block;
    float kept[block]; // y may stand in the bytes of x
    auto largest = 0.0f;
#pragma omp simd reduction(max : largest)
    for (std::size_t i = 0; i < m; ++i) {
      kept[i] = x[first + i];
      largest = abs_of(kept[i]) > largest ? abs_of(kept[i]) : largest;
    }
#pragma omp simd
    for (std::size_t i = 0; i < m; ++i)
      y[first + i] = sine_of(kept[i], Quarters);
    if (largest > largest_reduced)
      for (std::size_t i = 0; i < m; ++i)
        if (abs_of(kept[i]) > largest_reduced)
          y[first + i] = Quarters == 0 ? __builtin_sinf(kept[i]) : __builtin_cosf(kept[i]);
  }
}

} // namespace sluice::ops::SLUICE_LEVEL
