#pragma once

#include <cstdint>

/// Elementary functions without branches, for loops that the compiler turns into vector instructions. Float
/// versions are polynomials (minimax fits made for this file) with errors of at most 3 units in the last
/// place; double versions are the C library's. Included by the sources of this folder only: the namespace
/// keeps each level's copies apart.
namespace sluice::ops::SLUICE_LEVEL {

/// Unsigned: NaN goes through the same arithmetic as numbers, and must wrap.
inline float from_bits(std::uint32_t i) {
  return __builtin_bit_cast(float, i);
}
inline std::uint32_t to_bits(float f) {
  return __builtin_bit_cast(std::uint32_t, f);
}
inline std::int32_t as_signed(std::uint32_t i) {
  return static_cast<std::int32_t>(i);
}
inline std::uint32_t as_unsigned(std::int32_t i) {
  return static_cast<std::uint32_t>(i);
}

template <class T>
T larger(T a, T b) { // NaN if b is
  return a > b ? a : b;
}
template <class T>
T smaller(T a, T b) { // NaN if b is
  return a < b ? a : b;
}

inline float sqrt_of(float x) {
  return __builtin_sqrtf(x);
}
inline double sqrt_of(double x) {
  return __builtin_sqrt(x);
}
inline float abs_of(float x) {
  return __builtin_fabsf(x);
}
inline double abs_of(double x) {
  return __builtin_fabs(x);
}
inline float copy_sign(float magnitude, float sign) {
  return __builtin_copysignf(magnitude, sign);
}
inline double copy_sign(double magnitude, double sign) {
  return __builtin_copysign(magnitude, sign);
}

/// exp(x): 2^n (1 + r + r² q(r)) with x = n ln 2 + r.
inline float exp_of(float x) {
  // Beyond these bounds the result is 0 or infinity already; NaN passes.
  const auto in = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  constexpr float shifter = 12582912.0f; // 1.5 · 2^23: adding it leaves the rounded integer in the low bits
  const auto shifted = in * 1.44269504f + shifter;
  const auto n = shifted - shifter;
  const auto r = in - n * 0.693145752f - n * 1.42860677e-6f; // ln 2 in two parts, the first exact times n
  auto q = 1.381387818e-03f;
  q = q * r + 8.369063959e-03f;
  q = q * r + 4.166842252e-02f;
  q = q * r + 1.666651815e-01f;
  q = q * r + 4.999999404e-01f;
  const auto y = q * (r * r) + r + 1.0f;
  // Two factors, because 2^n itself may leave the range of normal numbers.
  const auto e = to_bits(shifted) - to_bits(shifter);
  const auto half = as_unsigned(as_signed(e) >> 1);
  return y * from_bits((half + 127u) << 23) * from_bits((e - half + 127u) << 23);
}
inline double exp_of(double x) {
  return __builtin_exp(x);
}

/// log(x): e ln 2 + log(1 + f) with x = 2^e (1 + f), 1 + f in [√½, √2).
inline float log_of(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const auto scaled = tiny ? x * 8388608.0f : x;
  const auto bits = to_bits(scaled);
  const auto exponent = as_signed(bits - 0x3f3504f3u) >> 23; // √½
  const auto f = from_bits(bits - (as_unsigned(exponent) << 23)) - 1.0f;
  const auto e = static_cast<float>(exponent) - (tiny ? 23.0f : 0.0f);
  auto q = 6.915368140e-02f;
  q = q * f - 1.178980768e-01f;
  q = q * f + 1.187297627e-01f;
  q = q * f - 1.238434836e-01f;
  q = q * f + 1.421865821e-01f;
  q = q * f - 1.666925102e-01f;
  q = q * f + 2.000222653e-01f;
  q = q * f - 2.499998659e-01f;
  q = q * f + 3.333331048e-01f;
  const auto square = f * f;
  const auto tail = q * f * square - 0.5f * square + e * -2.12194440e-4f;
  auto y = e * 0.693359375f + (f + tail);
  y = x == __builtin_inff() ? x : y;
  y = x == 0.0f ? -__builtin_inff() : y;
  return x < 0.0f ? __builtin_nanf("") : x != x ? x : y;
}
inline double log_of(double x) {
  return __builtin_log(x);
}

/// log(1 + x) for x in [0, 1]: the rounding error of 1 + x is divided out.
inline float log1p_of(float x) {
  const auto u = 1.0f + x;
  const auto rounded = u - 1.0f;
  return rounded > 0.0f ? log_of(u) * (x / rounded) : x;
}
inline double log1p_of(double x) {
  return __builtin_log1p(x);
}

inline float tanh_of(float x) {
  const auto a = abs_of(x);
  const auto z = x * x;
  auto q = 1.901799347e-03f;
  q = q * z - 7.892183028e-03f;
  q = q * z + 2.157583833e-02f;
  q = q * z - 5.392212421e-02f;
  q = q * z + 1.333299577e-01f;
  q = q * z - 3.333332539e-01f;
  const auto near = x + x * (z * q);
  const auto far = copy_sign(1.0f - 2.0f / (exp_of(a + a) + 1.0f), x);
  return a < 0.625f ? near : far;
}
inline double tanh_of(double x) {
  return __builtin_tanh(x);
}

/// exp(x) - 1 for x <= 0, as tanh(x / 2) (exp(x) + 1): no cancellation near 0.
inline float expm1_of(float x) {
  return tanh_of(0.5f * x) * (exp_of(x) + 1.0f);
}
inline double expm1_of(double x) {
  return __builtin_expm1(x);
}

/// Near 0 a polynomial, elsewhere 1 - exp(-g(|x|)), where g fits -log erfc.
inline float erf_of(float x) {
  const auto a = abs_of(x);
  const auto z = x * x;
  auto q = 7.889119297e-05f;
  q = q * z - 8.020841051e-04f;
  q = q * z + 5.189535208e-03f;
  q = q * z - 2.685444430e-02f;
  q = q * z + 1.128360033e-01f;
  q = q * z - 3.761262596e-01f;
  q = q * z + 1.283791661e-01f;
  const auto near = x + x * q;
  const auto b = a > 4.0f ? 4.0f : a;
  auto g = -1.855748997e-04f;
  g = g * b + 2.939615864e-03f;
  g = g * b - 2.180535160e-02f;
  g = g * b + 1.030374393e-01f;
  g = g * b + 6.382256150e-01f;
  g = g * b + 1.127040029e+00f;
  g = g * b + 3.537089215e-04f;
  const auto far = copy_sign(1.0f - exp_of(-g), x);
  return a < 1.0f ? near : far;
}
inline double erf_of(double x) {
  return __builtin_erf(x);
}

/// 1 / (1 + exp(-x)), accurate on both sides.
template <class T>
T sigmoid_of(T x) {
  const auto e = exp_of(-abs_of(x));
  const auto s = T{1} / (T{1} + e);
  return x < T{0} ? e * s : s;
}

inline float floor_of(float x) {
  return __builtin_floorf(x);
}
inline double floor_of(double x) {
  return __builtin_floor(x);
}
inline float ceil_of(float x) {
  return __builtin_ceilf(x);
}
inline double ceil_of(double x) {
  return __builtin_ceil(x);
}
inline float round_of(float x) {
  return __builtin_nearbyintf(x);
}
inline double round_of(double x) {
  return __builtin_nearbyint(x);
}

} // namespace sluice::ops::SLUICE_LEVEL
