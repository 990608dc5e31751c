#pragma once

#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/vector_math.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

/// What each reduction does with a run of elements and with many elements side by side. Every struct has:
///   start        the result of reducing nothing
///   row          reduces n neighbours
///   column       takes n elements into n results that are under way
///   join         makes one result of two
/// `shift` is subtracted first where the reduction says so.
namespace sluice::ops {

template <class T>
struct add_up {
  static constexpr T start{0};
  static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a + b;
    else
      return static_cast<T>(wide(a) + wide(b));
  }
  static T row(const T* x, std::size_t n, T) {
    if constexpr (std::is_floating_point_v<T>)
      return vector_math<T>().sum(x, n);
    auto sum = start;
    for (std::size_t i = 0; i < n; ++i)
      sum = join(sum, x[i]);
    return sum;
  }
  static void column(T* results, const T* x, std::size_t n, const T*) {
    if constexpr (std::is_floating_point_v<T>)
      vector_math<T>()(binary_function::add, operands::both)(results, x, results, n);
    else
      for (std::size_t i = 0; i < n; ++i)
        results[i] = join(results[i], x[i]);
  }
};

/// How many elements a loop over a changed copy changes at once.
inline constexpr std::size_t changed_at_once = 512;

/// Adds up what `Change` makes of the elements: change(x, n, shifts, y). `shifts` has one for each element.
template <class T, class Change>
struct add_up_changed {
  static constexpr T start{0};
  static T join(T a, T b) { return add_up<T>::join(a, b); }
  static void column(T* results, const T* x, std::size_t n, const T* shifts) {
    std::array<T, changed_at_once> changed;
    for (std::size_t i = 0; i < n; i += changed_at_once) {
      const auto piece = std::min(changed_at_once, n - i);
      Change::change(x + i, piece, shifts ? shifts + i : nullptr, changed.data());
      add_up<T>::column(results + i, changed.data(), piece, nullptr);
    }
  }
};

struct to_absolute {
  template <class T>
  static void change(const T* x, std::size_t n, const T*, T* y) {
    if constexpr (std::is_floating_point_v<T>) {
      const std::array<T, 3> none{};
      vector_math<T>()[unary_function::abs](x, y, n, none.data());
    } else
      for (std::size_t i = 0; i < n; ++i)
        y[i] = x[i] < T{0} ? static_cast<T>(wide(T{0}) - wide(x[i])) : x[i];
  }
};

struct to_square {
  template <class T>
  static void change(const T* x, std::size_t n, const T*, T* y) {
    if constexpr (std::is_floating_point_v<T>)
      vector_math<T>()(binary_function::mul, operands::both)(x, x, y, n);
    else
      for (std::size_t i = 0; i < n; ++i)
        y[i] = static_cast<T>(wide(x[i]) * wide(x[i]));
  }
};

struct to_exponential {
  template <class T>
  static void change(const T* x, std::size_t n, const T* shifts, T* y) {
    const std::array<T, 3> none{};
    vector_math<T>()(binary_function::sub, operands::both)(x, shifts, y, n);
    vector_math<T>()[unary_function::exp](y, y, n, none.data());
  }
};

template <class T>
struct add_absolutes : add_up_changed<T, to_absolute> {
  static T row(const T* x, std::size_t n, T) {
    if constexpr (std::is_floating_point_v<T>)
      return vector_math<T>().sum_of_abs(x, n);
    T sum{0};
    for (std::size_t i = 0; i < n; ++i) {
      T y{0};
      to_absolute::change(x + i, 1, static_cast<const T*>(nullptr), &y);
      sum = add_up<T>::join(sum, y);
    }
    return sum;
  }
};

template <class T>
struct add_squares : add_up_changed<T, to_square> {
  static T row(const T* x, std::size_t n, T) {
    if constexpr (std::is_floating_point_v<T>)
      return vector_math<T>().sum_of_squares(x, n, T{0});
    T sum{0};
    for (std::size_t i = 0; i < n; ++i)
      sum = static_cast<T>(wide(sum) + wide(x[i]) * wide(x[i]));
    return sum;
  }
};

/// For floating-point types only.
template <class T>
struct add_exponentials : add_up_changed<T, to_exponential> {
  static T row(const T* x, std::size_t n, T shift) {
    std::array<T, changed_at_once> changed;
    T sum{0};
    for (std::size_t i = 0; i < n; i += changed_at_once)
      sum += vector_math<T>().exp_sum(x + i, changed.data(), std::min(changed_at_once, n - i), shift);
    return sum;
  }
};

template <class T>
struct multiply {
  static constexpr T start{1};
  static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else
      return static_cast<T>(wide(a) * wide(b));
  }
  static T row(const T* x, std::size_t n, T) {
    auto product = start;
    for (std::size_t i = 0; i < n; ++i)
      product = join(product, x[i]);
    return product;
  }
  static void column(T* results, const T* x, std::size_t n, const T*) {
    if constexpr (std::is_floating_point_v<T>)
      vector_math<T>()(binary_function::mul, operands::both)(results, x, results, n);
    else
      for (std::size_t i = 0; i < n; ++i)
        results[i] = join(results[i], x[i]);
  }
};

template <class T, bool Largest>
struct take_extreme {
  using limits = std::numeric_limits<T>;
  static constexpr T low = limits::has_infinity ? -limits::infinity() : limits::lowest();
  static constexpr T high = limits::has_infinity ? limits::infinity() : limits::max();
  static constexpr T start = Largest ? low : high;
  static T join(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      if (a != a)
        return a;
    if (Largest)
      return a > b ? a : b;
    return a < b ? a : b;
  }
  static T row(const T* x, std::size_t n, T) {
    if constexpr (std::is_floating_point_v<T>)
      return Largest ? vector_math<T>().max(x, n) : vector_math<T>().min(x, n);
    auto extreme = start;
    for (std::size_t i = 0; i < n; ++i)
      extreme = join(extreme, x[i]);
    return extreme;
  }
  static void column(T* results, const T* x, std::size_t n, const T*) {
    if constexpr (std::is_floating_point_v<T>)
      vector_math<T>()(Largest ? binary_function::max : binary_function::min, operands::both)(results, x,
                                                                                              results, n);
    else
      for (std::size_t i = 0; i < n; ++i)
        results[i] = join(results[i], x[i]);
  }
};

template <class T>
using take_largest = take_extreme<T, true>;
template <class T>
using take_smallest = take_extreme<T, false>;

} // namespace sluice::ops
