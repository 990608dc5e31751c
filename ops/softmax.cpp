#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/small_floats.hpp>
#include <sluice/ops/vector_math.hpp>

#include <algorithm>
#include <cmath>

namespace sluice::ops {

namespace {

template <class T>
void affine(const T* x, T* y, std::size_t n, T factor, T offset) {
  const std::array<T, 3> parameters = {factor, offset, T{0}};
  vector_math<T>()[unary_function::affine](x, y, n, parameters.data());
}

template <class T>
void apply(unary_function f, const T* x, T* y, std::size_t n) {
  const std::array<T, 3> none{};
  vector_math<T>()[f](x, y, n, none.data());
}

/// Each of n neighbours; y may be x.
template <class T>
void softmax_row(const T* x, T* y, std::size_t n) {
  const auto& loops = vector_math<T>();
  const auto sum = loops.exp_sum(x, y, n, loops.max(x, n));
  affine(y, y, n, T{1} / sum, T{0});
}

template <class T>
void log_softmax_row(const T* x, T* y, std::size_t n) {
  const auto& loops = vector_math<T>();
  affine(x, y, n, T{1}, -loops.max(x, n));
  std::array<T, 512> exponentials;
  T sum{0};
  for (std::size_t i = 0; i < n; i += exponentials.size())
    sum += loops.exp_sum(y + i, exponentials.data(), std::min(exponentials.size(), n - i), T{0});
  affine(y, y, n, T{1}, -std::log(sum));
}

inline constexpr std::size_t strip = 256; ///< columns taken side by side

/// `width` columns of n elements each, `stride` apart.
template <class T>
void softmax_columns(const T* x, T* y, std::int64_t n, std::int64_t stride, std::size_t width,
                     bool logarithm) {
  using enum binary_function;
  const auto& loops = vector_math<T>();
  const auto both = [&](binary_function f, const T* a, const T* b, T* to) {
    loops(f, operands::both)(a, b, to, width);
  };
  std::array<T, strip> largest;
  std::array<T, strip> sums{};
  std::copy_n(x, width, largest.data());
  for (std::int64_t k = 1; k < n; ++k)
    both(max, largest.data(), x + k * stride, largest.data());
  std::array<T, strip> exponentials;
  for (std::int64_t k = 0; k < n; ++k) {
    auto* row = y + k * stride;
    both(sub, x + k * stride, largest.data(), row);
    apply(unary_function::exp, row, logarithm ? exponentials.data() : row, width);
    both(add, sums.data(), logarithm ? exponentials.data() : row, sums.data());
  }
  if (logarithm)
    apply(unary_function::log, sums.data(), sums.data(), width);
  for (std::int64_t k = 0; k < n; ++k)
    both(logarithm ? sub : div, y + k * stride, sums.data(), y + k * stride);
}

/// Softmax over the middle of three axes.
template <class T>
void softmax(const kernel_context& ctx, const T* x, T* y, std::int64_t outer, std::int64_t n,
             std::int64_t inner, bool logarithm) {
  if (n == 0)
    return;
  if (inner == 1) {
    ctx.parallel_for(
        static_cast<std::size_t>(outer), grain_for(4 * n), [&](std::size_t begin, std::size_t end) {
          for (auto row = begin; row < end; ++row) {
            const auto at = static_cast<std::int64_t>(row) * n;
            (logarithm ? log_softmax_row<T> : softmax_row<T>)(x + at, y + at, static_cast<std::size_t>(n));
          }
        });
    return;
  }
  const auto width = static_cast<std::int64_t>(strip);
  const auto strips = (inner + width - 1) / width;
  ctx.parallel_for(static_cast<std::size_t>(outer * strips), grain_for(4 * n * std::min(inner, width)),
                   [&](std::size_t begin, std::size_t end) {
                     for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end);
                          ++i) {
                       const auto first = i % strips * width;
                       const auto at = i / strips * n * inner + first;
                       softmax_columns(x + at, y + at, n, inner,
                                       static_cast<std::size_t>(std::min(width, inner - first)), logarithm);
                     }
                   });
}

/// Before opset 13 all axes from `axis` on are one.
kernel_entry softmax_kernel(bool logarithm, bool flattened) {
  return {[logarithm, flattened](const kernel_request& r) {
    return make_kernel(
        [logarithm, flattened,
         axis_given = r.op.attributes().get<std::int64_t>("axis", flattened ? 1 : -1)](kernel_context& ctx) {
          const auto type = ctx.input(0).type();
          const auto s = ctx.input(0).shape();
          const auto axis = normalize_axis(axis_given, s.rank(), flattened);
          const auto outer = s.product(0, axis);
          const auto n = flattened ? s.product(axis, s.rank()) : s[axis];
          const auto inner = flattened ? 1 : s.product(axis + 1, s.rank());
          const auto& in = ctx.input(0);
          auto& out = ctx.output(0, type, s);
          visit_among(float_types{}, type, [&]<class T>(std::type_identity<T>) {
            if constexpr (is_small_float<T>) {
              const auto floats = tensor::make(element_type::float32, s, ctx.allocator());
              auto* x = floats->template data<float>().data();
              to_floats(in.template data<T>().data(), x, static_cast<std::size_t>(s.elements()));
              softmax(ctx, x, x, outer, n, inner, logarithm);
              from_floats(x, out.template data<T>().data(), static_cast<std::size_t>(s.elements()));
            } else {
              softmax(ctx, in.template data<T>().data(), out.template data<T>().data(), outer, n, inner,
                      logarithm);
            }
          });
        },
        in_place_of_first());
  }};
}

} // namespace

void register_softmax(operator_library& lib) {
  constexpr auto work = 14; // of which the exponential takes most
  for (const auto logarithm : {false, true})
    for (const auto since : {1, 13})
      lib.add({.name = logarithm ? "LogSoftmax" : "Softmax",
               .since_opset = since,
               .infer = same_as_first,
               .cost = elementwise_cost(work)},
              softmax_kernel(logarithm, since == 1));
}

} // namespace sluice::ops
