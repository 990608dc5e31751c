#include <sluice/ops/channels.hpp>
#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/vector_math.hpp>

#include <algorithm>
#include <array>

namespace sluice::ops {

namespace {

struct lrn_window {
  std::int64_t size;
  float alpha;
  float beta;
  float bias;
};

/// y = x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta, for `width`
/// neighbours of all channels.
template <class T>
void lrn_strip(const lrn_window& w, const T* x, T* y, std::int64_t channel_count, std::int64_t inner,
               std::size_t width) {
  constexpr std::size_t most = 256;
  using enum binary_function;
  const auto& loops = vector_math<T>();
  std::array<T, most> sum;
  std::array<T, most> square;
  const auto change = [&](unary_function f, T p0, T p1) {
    const std::array<T, 3> constants = {p0, p1, T{0}};
    loops[f](sum.data(), sum.data(), width, constants.data());
  };
  for (std::int64_t channel = 0; channel < channel_count; ++channel) {
    const auto first = std::max<std::int64_t>(0, channel - (w.size - 1) / 2);
    const auto last = std::min(channel_count - 1, channel + w.size / 2);
    std::fill_n(sum.data(), width, T{0});
    for (auto k = first; k <= last; ++k) {
      loops(mul, operands::both)(x + k * inner, x + k * inner, square.data(), width);
      loops(add, operands::both)(sum.data(), square.data(), sum.data(), width);
    }
    change(unary_function::affine, static_cast<T>(w.alpha) / static_cast<T>(w.size), static_cast<T>(w.bias));
    const auto* from = x + channel * inner;
    auto* to = y + channel * inner;
    if (w.beta == 0.75F) { // the usual power is two square roots
      change(unary_function::sqrt, T{0}, T{0});
      loops(div, operands::both)(from, sum.data(), to, width);
      change(unary_function::sqrt, T{0}, T{0});
      loops(div, operands::both)(to, sum.data(), to, width);
    } else {
      change(unary_function::log, T{0}, T{0});
      change(unary_function::affine, -static_cast<T>(w.beta), T{0});
      change(unary_function::exp, T{0}, T{0});
      loops(mul, operands::both)(from, sum.data(), to, width);
    }
  }
}

kernel_entry lrn_kernel() {
  return {[](const kernel_request& r) {
    const auto& a = r.op.attributes();
    const lrn_window w{a.get<std::int64_t>("size"), a.get<float>("alpha", 1e-4F), a.get<float>("beta", 0.75F),
                       a.get<float>("bias", 1.0F)};
    if (w.size < 1)
      throw error{errc::invalid_graph, "a window of " + std::to_string(w.size) + " channels"};
    return make_kernel([w](kernel_context& ctx) {
      const channels c{ctx.input(0).shape()};
      constexpr std::int64_t width = 256;
      const auto strips = (c.inner + width - 1) / width;
      with_elements(ctx, [&]<class T>(const T* x, T* y) {
        ctx.parallel_for(static_cast<std::size_t>(c.batch * strips), grain_for(w.size * c.count * width),
                         [&](std::size_t begin, std::size_t end) {
                           for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end);
                                ++i) {
                             const auto at = i % strips * width;
                             const auto first = i / strips * c.count * c.inner + at;
                             lrn_strip(w, x + first, y + first, c.count, c.inner,
                                       static_cast<std::size_t>(std::min(width, c.inner - at)));
                           }
                         });
      });
    });
  }};
}

} // namespace

void register_lrn(operator_library& lib) {
  lib.add({.name = "LRN", .infer = same_as_first, .cost = elementwise_cost(16)}, lrn_kernel());
}

} // namespace sluice::ops
