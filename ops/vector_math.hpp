#pragma once

#include <sluice/devices/cpu_level.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

/// The inner loops of the floating-point operators, compiled for several instruction sets and picked at run
/// time. They compute; types, shapes, broadcasting and threads are their callers' business.
namespace sluice::ops {

/// Functions of one element x and up to three parameters (p0, p1, p2).
enum class unary_function : std::uint8_t {
  affine, ///< p0 x + p1
  relu,
  leaky_relu,       ///< p0 x below 0
  thresholded_relu, ///< 0 up to p0
  clip,             ///< to [p0, p1]; p1 where they cross
  abs,
  neg,
  sign,
  sqrt,
  reciprocal,
  square,
  floor,
  ceil,
  round, ///< halves to even
  exp,
  log,
  tanh,
  sigmoid,
  erf,
  exp_linear,   ///< p2 x above 0, otherwise p0 (exp(p1 x) - 1): Elu, Selu, Celu
  hard_sigmoid, ///< p0 x + p1 clipped to [0, 1]
  hard_swish,   ///< x hard_sigmoid(x)
  softplus,
  softsign,
  shrink, ///< x brought nearer to 0 by p0 where |x| > p1, 0 elsewhere
  swish,  ///< x sigmoid(p0 x)
  mish,
  gelu,      ///< x times the normal distribution function
  gelu_tanh, ///< its approximation by tanh
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
};
inline constexpr std::size_t unary_functions = 40;

/// Functions of two elements.
enum class binary_function : std::uint8_t { add, sub, mul, div, max, min, prelu };
inline constexpr std::size_t binary_functions = 7;

/// Which operand of a binary loop is an array; the other is one element.
enum class operands : std::uint8_t { both, left, right };

/// Loops over arrays of T (float or double) for one instruction set. A result may stand in the bytes of an
/// argument. Each element's bits depend on its own arguments only, not on its place in the array.
template <class T>
struct vector_loops {
  using unary_loop = void (*)(const T* x, T* y, std::size_t n, const T* parameters);
  using binary_loop = void (*)(const T* a, const T* b, T* y, std::size_t n);

  std::array<unary_loop, unary_functions> unary;
  std::array<std::array<binary_loop, 3>, binary_functions> binary;

  // Reductions: the order of additions depends on n alone. max and min of nothing are -inf and inf; a NaN
  // among the elements may be overlooked by max and min.
  T (*sum)(const T* x, std::size_t n);
  T (*sum_of_abs)(const T* x, std::size_t n);
  T (*sum_of_squares)(const T* x, std::size_t n, T about); ///< of (x - about)
  T (*dot)(const T* a, const T* b, std::size_t n);
  T (*max)(const T* x, std::size_t n);
  T (*min)(const T* x, std::size_t n);

  /// y = exp(x - shift); returns the sum of y.
  T (*exp_sum)(const T* x, T* y, std::size_t n, T shift);
  /// y = (p0 x + p1) scale + bias, element by element: a normalised row.
  void (*affine_scaled)(const T* x, const T* scale, const T* bias, T* y, std::size_t n, T p0, T p1);

  [[nodiscard]] unary_loop operator[](unary_function f) const noexcept {
    return unary[static_cast<std::size_t>(f)];
  }
  [[nodiscard]] binary_loop operator()(binary_function f, operands arrays) const noexcept {
    return binary[static_cast<std::size_t>(f)][static_cast<std::size_t>(arrays)];
  }
};

/// The loops for a level; T is float or double. Calling one above supported_cpu_level() is an illegal
/// instruction.
template <class T>
[[nodiscard]] const vector_loops<T>& vector_math(cpu_level level) noexcept;
template <>
[[nodiscard]] SLUICE_API const vector_loops<float>& vector_math(cpu_level level) noexcept;
template <>
[[nodiscard]] SLUICE_API const vector_loops<double>& vector_math(cpu_level level) noexcept;

/// The loops for active_cpu_level().
template <class T>
[[nodiscard]] const vector_loops<T>& vector_math() noexcept {
  static const auto& picked = vector_math<T>(active_cpu_level());
  return picked;
}

/// Conversions between floats and the bits of a small float type.
struct small_float_loops {
  void (*decode)(const std::uint16_t* x, float* y, std::size_t n);
  void (*encode)(const float* x, std::uint16_t* y, std::size_t n);
};
[[nodiscard]] SLUICE_API const small_float_loops&
float16_loops(cpu_level level = active_cpu_level()) noexcept;
[[nodiscard]] SLUICE_API const small_float_loops&
bfloat16_loops(cpu_level level = active_cpu_level()) noexcept;

} // namespace sluice::ops
