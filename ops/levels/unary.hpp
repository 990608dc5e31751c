#pragma once

#include <sluice/ops/levels/functions.hpp>
#include <sluice/ops/levels/trigonometry.hpp>
#include <sluice/ops/vector_math.hpp>

#include <utility>

namespace sluice::ops::SLUICE_LEVEL {

/// What each `unary_function` computes of an element and its parameters, stated once for float and double.
template <unary_function F, class T>
T formula(T x, const T* p) {
  using enum unary_function;
  switch (F) {
  case affine:
    return p[0] * x + p[1];
  case relu:
    return x < T{0} ? T{0} : x;
  case leaky_relu:
    return x < T{0} ? p[0] * x : x;
  case thresholded_relu:
    return x > p[0] ? x : T{0};
  case clip:
    return smaller(p[1], larger(p[0], x));
  case abs:
    return abs_of(x);
  case neg:
    return -x;
  case sign:
    return x > T{0} ? T{1} : x < T{0} ? T{-1} : x;
  case sqrt:
    return sqrt_of(x);
  case reciprocal:
    return T{1} / x;
  case square:
    return x * x;
  case floor:
    return floor_of(x);
  case ceil:
    return ceil_of(x);
  case round:
    return round_of(x);
  case exp:
    return exp_of(x);
  case log:
    return log_of(x);
  case tanh:
    return tanh_of(x);
  case sigmoid:
    return sigmoid_of(x);
  case erf:
    return erf_of(x);
  case exp_linear:
    return x > T{0} ? p[2] * x : p[0] * expm1_of(p[1] * x);
  case hard_sigmoid:
    return smaller(T{1}, larger(T{0}, p[0] * x + p[1]));
  case hard_swish:
    return x * smaller(T{1}, larger(T{0}, x / T{6} + T(0.5)));
  case softplus:
    return larger(T{0}, x) + log1p_of(exp_of(-abs_of(x)));
  case softsign:
    return x / (T{1} + abs_of(x));
  case shrink:
    return x < -p[1] ? x + p[0] : x > p[1] ? x - p[0] : T{0};
  case swish:
    return x * sigmoid_of(p[0] * x);
  case mish: { // x tanh(log(1 + e^x)); the clamp keeps e² finite where the factor is 1 already
    const auto e = exp_of(x > T{20} ? T{20} : x);
    const auto n = e * (e + T{2});
    return x * (n / (n + T{2}));
  }
  case gelu:
    return T(0.5) * x * (T{1} + erf_of(x * T(0.70710678118654752)));
  case gelu_tanh:
    return T(0.5) * x * (T{1} + tanh_of(T(0.79788456080286536) * (x + T(0.044715) * x * x * x)));
  case sin:
    return static_cast<T>(__builtin_sin(static_cast<double>(x)));
  case cos:
    return static_cast<T>(__builtin_cos(static_cast<double>(x)));
  case tan:
    return static_cast<T>(__builtin_tan(static_cast<double>(x)));
  case asin:
    return static_cast<T>(__builtin_asin(static_cast<double>(x)));
  case acos:
    return static_cast<T>(__builtin_acos(static_cast<double>(x)));
  case atan:
    return static_cast<T>(__builtin_atan(static_cast<double>(x)));
  case sinh:
    return static_cast<T>(__builtin_sinh(static_cast<double>(x)));
  case cosh:
    return static_cast<T>(__builtin_cosh(static_cast<double>(x)));
  case asinh:
    return static_cast<T>(__builtin_asinh(static_cast<double>(x)));
  case acosh:
    return static_cast<T>(__builtin_acosh(static_cast<double>(x)));
  case atanh:
    return static_cast<T>(__builtin_atanh(static_cast<double>(x)));
  }
  return x;
}

template <unary_function F, class T>
void unary_loop(const T* x, T* y, std::size_t n, const T* p) {
  if constexpr (sizeof(T) == sizeof(float) && F == unary_function::sin)
    return sine_loop<0>(x, y, n);
  if constexpr (sizeof(T) == sizeof(float) && F == unary_function::cos)
    return sine_loop<1>(x, y, n);
  const T parameters[] = {p[0], p[1], p[2]}; // y might be thought to change them
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i)
    y[i] = formula<F>(x[i], parameters);
}

template <class T, std::size_t... I>
constexpr auto unary_table(std::index_sequence<I...>) {
  return std::array<typename vector_loops<T>::unary_loop, sizeof...(I)>{
      unary_loop<static_cast<unary_function>(I), T>...};
}

} // namespace sluice::ops::SLUICE_LEVEL
