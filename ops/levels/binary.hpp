#pragma once

#include <sluice/ops/levels/functions.hpp>
#include <sluice/ops/vector_math.hpp>

#include <utility>

namespace sluice::ops::SLUICE_LEVEL {

/// What each `binary_function` computes, for float and double.
template <binary_function F, class T>
T formula(T a, T b) {
  using enum binary_function;
  switch (F) {
  case add:
    return a + b;
  case sub:
    return a - b;
  case mul:
    return a * b;
  case div:
    return a / b;
  case max: // NaN if either is
    return a != a ? a : larger(a, b);
  case min:
    return a != a ? a : smaller(a, b);
  case prelu:
    return a < T{0} ? a * b : a;
  }
  return a;
}

template <binary_function F, operands Arrays, class T>
void binary_loop(const T* a, const T* b, T* y, std::size_t n) {
  if constexpr (Arrays == operands::both) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i)
      y[i] = formula<F>(a[i], b[i]);
  } else if constexpr (Arrays == operands::left) {
    const T right = *b;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i)
      y[i] = formula<F>(a[i], right);
  } else {
    const T left = *a;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i)
      y[i] = formula<F>(left, b[i]);
  }
}

template <class T, std::size_t... I>
constexpr auto binary_table(std::index_sequence<I...>) {
  using loops = std::array<typename vector_loops<T>::binary_loop, 3>;
  return std::array<loops, sizeof...(I)>{
      loops{binary_loop<static_cast<binary_function>(I), operands::both, T>,
            binary_loop<static_cast<binary_function>(I), operands::left, T>,
            binary_loop<static_cast<binary_function>(I), operands::right, T>}...};
}

} // namespace sluice::ops::SLUICE_LEVEL
