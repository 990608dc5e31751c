#pragma once

#include <sluice/ops/levels/functions.hpp>
#include <sluice/ops/vector_math.hpp>

namespace sluice::ops::SLUICE_LEVEL {

/// Sums of at most this many elements are added up straight (in vector lanes); longer ones are halved first,
/// so that the error grows with the logarithm of the length.
inline constexpr std::size_t summed_straight = 1024;

/// The sum of term(i) for i in [first, first + n).
template <class T, class Term>
T sum_of(std::size_t first, std::size_t n, Term term) {
  if (n > summed_straight) {
    const auto left = n / 2;
    return sum_of<T>(first, left, term) + sum_of<T>(first + left, n - left, term);
  }
  T s{0};
#pragma omp simd reduction(+ : s)
  for (std::size_t i = first; i < first + n; ++i)
    s += term(i);
  return s;
}

template <class T>
T sum(const T* x, std::size_t n) {
  return sum_of<T>(0, n, [x](std::size_t i) { return x[i]; });
}

template <class T>
T sum_of_abs(const T* x, std::size_t n) {
  return sum_of<T>(0, n, [x](std::size_t i) { return abs_of(x[i]); });
}

template <class T>
T sum_of_squares(const T* x, std::size_t n, T about) {
  return sum_of<T>(0, n, [x, about](std::size_t i) { return (x[i] - about) * (x[i] - about); });
}

template <class T>
T dot(const T* a, const T* b, std::size_t n) {
  return sum_of<T>(0, n, [a, b](std::size_t i) { return a[i] * b[i]; });
}

template <class T>
T max(const T* x, std::size_t n) {
  auto m = -static_cast<T>(__builtin_inf());
#pragma omp simd reduction(max : m)
  for (std::size_t i = 0; i < n; ++i)
    m = x[i] > m ? x[i] : m;
  return m;
}

template <class T>
T min(const T* x, std::size_t n) {
  auto m = static_cast<T>(__builtin_inf());
#pragma omp simd reduction(min : m)
  for (std::size_t i = 0; i < n; ++i)
    m = x[i] < m ? x[i] : m;
  return m;
}

template <class T>
T exp_sum(const T* x, T* y, std::size_t n, T shift) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i)
    y[i] = exp_of(x[i] - shift);
  return sum(y, n);
}

template <class T>
void affine_scaled(const T* x, const T* scale, const T* bias, T* y, std::size_t n, T p0, T p1) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i)
    y[i] = (p0 * x[i] + p1) * scale[i] + bias[i];
}

} // namespace sluice::ops::SLUICE_LEVEL
