#include <sluice/ops/operators.hpp>

#include <sluice/ops/binary.hpp>
#include <sluice/ops/convert.hpp>
#include <sluice/ops/inference.hpp>

#include <cmath>
#include <limits>

namespace sluice::ops {

namespace {

struct power {
  template <class T>
  T operator()(T base, T exponent) const {
    return std::pow(base, exponent);
  }
};

struct squared {
  template <class T>
  T operator()(T base, T) const {
    return base * base;
  }
};

struct square_root { // as pow(x, 0.5): +0 of -0, and infinity of -infinity
  template <class T>
  T operator()(T base, T) const {
    constexpr auto infinity = std::numeric_limits<T>::infinity();
    return base == -infinity ? infinity : std::sqrt(base + T{0});
  }
};

/// Integers to an integer: wraps, and cuts what a negative exponent gives towards zero.
struct integer_power {
  template <class T>
  T operator()(T base, std::int64_t exponent) const {
    if (exponent < 0)
      return base == T{1} ? T{1} : base == T{-1} ? (exponent % 2 ? T{-1} : T{1}) : T{0};
    std::uint64_t result = 1;
    for (auto factor = wide(base); exponent > 0; exponent >>= 1, factor *= factor)
      if (exponent & 1)
        result *= factor;
    return static_cast<T>(result);
  }
};

struct real_power {
  template <class T>
  T operator()(T base, double exponent) const {
    return to_integer<T>(std::pow(static_cast<double>(base), exponent));
  }
};

/// The exponents as elements of `type`: themselves if they are.
value exponents(const value& given, element_type type, memory& from) {
  const auto& x = given.tensor();
  if (x.type() == type)
    return given;
  auto y = tensor::make(type, x.shape(), from);
  convert_elements(x.raw(), x.type(), y->raw(), type, static_cast<std::size_t>(x.elements()));
  return y;
}

template <class T>
binary_loop loop_for(const tensor& exponent) {
  if (exponent.elements() == 1) {
    const auto e = static_cast<double>(static_cast<computed<T>>(exponent.data<T>().front()));
    if (e == 2.0)
      return plain_loop<squared, T, T>();
    if (e == 0.5)
      return plain_loop<square_root, T, T>();
  }
  return plain_loop<power, T, T>();
}

template <class T>
std::unique_ptr<prepared_kernel> kernel_for(bool real_exponent, alignment how) {
  if constexpr (!std::is_integral_v<T>)
    return make_kernel(
        [how](kernel_context& ctx) {
          const auto e = exponents(ctx.input_value(1), element_type_of<T>, ctx.allocator());
          run_binary(ctx, ctx.input(0), e.tensor(), loop_for<T>(e.tensor()), how);
        },
        in_place_of_first());
  else
    return make_kernel(
        [how, real_exponent](kernel_context& ctx) {
          const auto type = real_exponent ? element_type::float64 : element_type::int64;
          const auto e = exponents(ctx.input_value(1), type, ctx.allocator());
          const auto run = real_exponent ? plain_run<real_power, T, double, T>
                                         : plain_run<integer_power, T, std::int64_t, T>;
          run_binary(ctx, ctx.input(0), e.tensor(), {run, sizeof(T), sizeof(std::int64_t), sizeof(T)}, how);
        },
        in_place_of_first());
}

} // namespace

void register_power(operator_library& lib) {
  auto schema = binary_schema("Pow", 1, 40);
  schema.infer = [](const op_view& op) { return infer_binary(op); };
  lib.add(std::move(schema), {.prepare = [](const kernel_request& r) {
            const bool real = is_floating(r.op.element(1));
            using types = decltype(float_types{} + type_list<std::int32_t, std::int64_t>{});
            return visit_among(types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
              return kernel_for<T>(real, alignment_of(r.op));
            });
          }});
}

} // namespace sluice::ops
