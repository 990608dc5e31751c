#pragma once

#include <sluice/devices/kernel.hpp>
#include <sluice/devices/kernel_context.hpp>
#include <sluice/graph/op_schema.hpp>
#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/small_floats.hpp>
#include <sluice/ops/vector_math.hpp>

#include <cstddef>
#include <type_traits>

/// Functions of two arrays under broadcasting: one walk for all operators and types, one inner loop each.
namespace sluice::ops {

/// An inner loop: y = f(a, b) for n elements, where `arrays` says which of a and b is an array. y may stand
/// in the bytes of an array.
using binary_run = void (*)(const void* a, const void* b, void* y, std::size_t n, operands arrays);

/// What a binary kernel is made of.
struct binary_loop {
  binary_run run;
  std::size_t left_bytes; ///< of one element
  std::size_t right_bytes;
  std::size_t result_bytes;
};

/// How the second array aligns with the first.
struct alignment {
  bool legacy = false;    ///< as before opset 7: only the second one broadcasts, and only where asked
  std::int64_t axis = -1; ///< legacy: the first array's axis at which the second one starts
};

/// Reads how a node aligns its arrays from its opset and the old attributes `broadcast` and `axis`.
[[nodiscard]] alignment alignment_of(const op_view& op);

/// Computes output 0 from the arrays `a` and `b`, on as many threads as the context lends.
void run_binary(kernel_context& ctx, const tensor& a, const tensor& b, const binary_loop& loop,
                alignment how);

/// The same into `y`, which has the broadcast shape and may stand in the bytes of an array of that shape.
void run_into(kernel_context& ctx, tensor& y, const tensor& a, const tensor& b, const binary_loop& loop,
              alignment how);

/// The kernel that computes output 0 from inputs 0 and 1.
[[nodiscard]] std::unique_ptr<prepared_kernel> binary_kernel(const kernel_request& r,
                                                             const binary_loop& loop);

/// Infers one output: the broadcast shape of inputs 0 and 1, of the first one's type or of `element`.
[[nodiscard]] std::vector<value_type> infer_binary(const op_view& op,
                                                   element_type element = element_type::undefined);

/// The schema of a binary operator.
[[nodiscard]] op_schema binary_schema(std::string name, int since, double operations = 1);
[[nodiscard]] op_schema comparison_schema(std::string name, int since);

/// The loop for `Op{}(a, b)`.
template <class Op, class A, class B, class Y>
void plain_run(const void* a, const void* b, void* y, std::size_t n, operands arrays) {
  const auto* x0 = static_cast<const A*>(a);
  const auto* x1 = static_cast<const B*>(b);
  auto* to = static_cast<Y*>(y);
  const auto at = [](const auto* x, std::size_t i) {
    return static_cast<computed<std::remove_cvref_t<decltype(*x)>>>(x[i]);
  };
  const std::size_t step0 = arrays == operands::right ? 0 : 1;
  const std::size_t step1 = arrays == operands::left ? 0 : 1;
  for (std::size_t i = 0; i < n; ++i)
    to[i] = static_cast<Y>(Op{}(at(x0, i * step0), at(x1, i * step1)));
}

/// The loop of `vector_math` for F, small floats by way of floats.
template <binary_function F, class T>
void vector_run(const void* a, const void* b, void* y, std::size_t n, operands arrays) {
  const auto* x0 = static_cast<const T*>(a);
  const auto* x1 = static_cast<const T*>(b);
  if constexpr (is_small_float<T>) {
    std::array<float, float_buffer> right;
    const auto loop = vector_math<float>()(F, arrays);
    if (arrays == operands::right) {
      const auto left = static_cast<float>(*x0);
      through_floats(x1, static_cast<T*>(y), n,
                     [&](float* x, std::size_t piece) { loop(&left, x, x, piece); });
      return;
    }
    if (arrays == operands::left)
      right[0] = static_cast<float>(*x1);
    through_floats(x0, static_cast<T*>(y), n, [&](float* x, std::size_t piece) {
      if (arrays == operands::both) {
        to_floats(x1, right.data(), piece);
        x1 += piece;
      }
      loop(x, right.data(), x, piece);
    });
  } else {
    vector_math<T>()(F, arrays)(x0, x1, static_cast<T*>(y), n);
  }
}

/// The sum of integers, computed in the widest unsigned type, where it may wrap.
struct wrapping_sum {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(wide(a) + wide(b));
  }
};

/// The loop for elements of T: `vector_math`'s for floating point, `Op{}(a, b)` for integers.
template <binary_function F, class Op, class T>
constexpr binary_loop arithmetic_loop() {
  if constexpr (std::is_integral_v<T>)
    return {plain_run<Op, T, T, T>, sizeof(T), sizeof(T), sizeof(T)};
  else
    return {vector_run<F, T>, sizeof(T), sizeof(T), sizeof(T)};
}

/// The loop for `Op{}(a, b)` that gives a Y.
template <class Op, class T, class Y>
constexpr binary_loop plain_loop() {
  return {plain_run<Op, T, T, Y>, sizeof(T), sizeof(T), sizeof(Y)};
}

} // namespace sluice::ops
