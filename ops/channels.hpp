#pragma once

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/small_floats.hpp>

#include <cstdint>

/// What the operators that normalise share.
namespace sluice::ops {

/// Calls f(x, y) with the elements of input 0 and output 0 as float or double: small floats by way of floats.
template <class F>
void with_elements(kernel_context& ctx, F f) {
  const auto type = ctx.input(0).type();
  const auto s = ctx.input(0).shape();
  const auto& in = ctx.input(0);
  auto& out = ctx.output(0, type, s);
  visit_among(float_types{}, type, [&]<class T>(std::type_identity<T>) {
    if constexpr (is_small_float<T>) {
      const auto n = static_cast<std::size_t>(s.elements());
      const auto x = tensor::make(element_type::float32, s, ctx.allocator());
      const auto y = tensor::make(element_type::float32, s, ctx.allocator());
      to_floats(in.data<T>().data(), x->template data<float>().data(), n);
      f(static_cast<const float*>(x->template data<float>().data()), y->template data<float>().data());
      from_floats(y->template data<float>().data(), out.data<T>().data(), n);
    } else {
      f(in.data<T>().data(), out.data<T>().data());
    }
  });
}

/// Batches, channels and the elements of a channel.
struct channels {
  std::int64_t batch;
  std::int64_t count;
  std::int64_t inner;

  explicit channels(const shape& s) : batch(0), count(0), inner(0) {
    if (s.rank() < 1)
      throw error{errc::kernel_failed, "a scalar has no channels"};
    batch = s[0];
    count = s.rank() == 1 ? 1 : s[1];
    inner = s.rank() <= 2 ? 1 : s.product(2, s.rank());
  }
};

} // namespace sluice::ops
