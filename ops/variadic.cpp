#include <sluice/ops/operators.hpp>

#include <sluice/ops/binary.hpp>
#include <sluice/ops/broadcast.hpp>
#include <sluice/ops/inference.hpp>

#include <cstring>

namespace sluice::ops {

namespace {

struct larger {
  template <class T>
  T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct smaller {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
shape common_shape(const kernel_context& ctx) {
  auto s = ctx.input(0).shape();
  for (std::size_t i = 1; i < ctx.input_count(); ++i)
    s = broadcast_plan{s, ctx.input(i).shape()}.output();
  return s;
}

/// y = x, broadcast to y's shape.
void spread(const tensor& x, tensor& y) {
  if (x.raw() == y.raw())
    return;
  const auto size = size_of(x.type());
  const broadcast_plan plan{x.shape(), y.shape()};
  auto* to = static_cast<std::byte*>(y.raw());
  plan.for_each_run(0, static_cast<std::size_t>(y.elements()),
                    [&](const broadcast_plan::offsets& from, std::size_t first, std::size_t n) {
                      const auto* element = static_cast<const std::byte*>(x.raw()) + from[0] * size;
                      if (plan.advances(0))
                        std::memcpy(to + first * size, element, n * size);
                      else
                        for (std::size_t i = 0; i < n; ++i)
                          std::memcpy(to + (first + i) * size, element, size);
                    });
}

/// Folds all inputs into output 0 from left to right.
tensor& fold(kernel_context& ctx, const binary_loop& loop) {
  const auto s = common_shape(ctx);
  auto& y = ctx.output(0, s);
  std::size_t next = 1;
  if (ctx.input_count() > 1 && broadcast_plan{ctx.input(0).shape(), ctx.input(1).shape()}.output() == s)
    run_into(ctx, y, ctx.input(0), ctx.input(next++), loop, {});
  else
    spread(ctx.input(0), y);
  for (; next < ctx.input_count(); ++next)
    run_into(ctx, y, y, ctx.input(next), loop, {});
  return y;
}

template <binary_function F, class Op, class Types>
kernel_entry folded(Types) {
  return {.prepare = [](const kernel_request& r) {
    return visit_among(Types{}, r.op.element(0), []<class T>(std::type_identity<T>) {
      return make_kernel([](kernel_context& ctx) { fold(ctx, arithmetic_loop<F, Op, T>()); },
                         in_place_of_first());
    });
  }};
}

template <class T>
void mean(kernel_context& ctx) {
  auto& y = fold(ctx, arithmetic_loop<binary_function::add, wrapping_sum, T>());
  const T count{static_cast<computed<T>>(ctx.input_count())};
  vector_run<binary_function::div, T>(y.raw(), &count, y.raw(), static_cast<std::size_t>(y.elements()),
                                      operands::left);
}

op_schema variadic_schema(std::string name) {
  return {.name = std::move(name),
          .max_inputs = op_schema::variadic,
          .infer =
              [](const op_view& op) {
                for (std::size_t i = 1; i < op.input_count(); ++i)
                  if (op.element(i) != op.element(0))
                    throw error{errc::invalid_graph, "its inputs are of different types"};
                return broadcast_all(op);
              },
          .cost = elementwise_cost()};
}

} // namespace

void register_variadic(operator_library& lib) {
  lib.add(variadic_schema("Max"), folded<binary_function::max, larger>(numeric_types{}));
  lib.add(variadic_schema("Min"), folded<binary_function::min, smaller>(numeric_types{}));
  lib.add(variadic_schema("Sum"), folded<binary_function::add, wrapping_sum>(float_types{}));
  lib.add(variadic_schema("Mean"), {.prepare = [](const kernel_request& r) {
            return visit_among(float_types{}, r.op.element(0), []<class T>(std::type_identity<T>) {
              return make_kernel(mean<T>, in_place_of_first());
            });
          }});
}

} // namespace sluice::ops
