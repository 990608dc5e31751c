#include <sluice/ops/operators.hpp>

#include <sluice/ops/binary.hpp>
#include <sluice/ops/inference.hpp>

#include <cmath>
#include <limits>

namespace sluice::ops {

namespace {

// Integers wrap, as in wrapping_sum.
struct subtracted {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(wide(a) - wide(b));
  }
};
struct multiplied {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(wide(a) * wide(b));
  }
};
struct divided { // towards zero; b is not 0
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T>)
      if (b == T{-1})
        return static_cast<T>(0 - wide(a));
    return static_cast<T>(a / b);
  }
};

/// The remainder with the sign of the divisor, as Python's.
struct modulo {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const auto r = std::fmod(a, b);
      return r != T{0} && (r < T{0}) != (b < T{0}) ? r + b : r;
    } else {
      if constexpr (std::is_signed_v<T>) {
        if (b == T{-1})
          return T{0};
        const auto r = static_cast<T>(a % b);
        return r != T{0} && (r < T{0}) != (b < T{0}) ? static_cast<T>(r + b) : r;
      }
      return static_cast<T>(a % b);
    }
  }
};

/// The remainder with the sign of the dividend, as C's.
struct remainder {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmod(a, b);
    else {
      if constexpr (std::is_signed_v<T>)
        if (b == T{-1})
          return T{0};
      return static_cast<T>(a % b);
    }
  }
};

struct shifted_left { // by the width or more: 0
  template <class T>
  T operator()(T a, T b) const {
    return wide(b) >= std::numeric_limits<T>::digits ? T{0} : static_cast<T>(wide(a) << b);
  }
};
struct shifted_right {
  template <class T>
  T operator()(T a, T b) const {
    return wide(b) >= std::numeric_limits<T>::digits ? T{0} : static_cast<T>(a >> b);
  }
};

struct bits_of_both {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct bits_of_either {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct bits_of_one {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

struct sloped { // PRelu
  template <class T>
  T operator()(T a, T b) const {
    return a < T{0} ? static_cast<T>(wide(a) * wide(b)) : a;
  }
};

template <class Op, class Types>
kernel_entry plain(Types) {
  return {.prepare = [](const kernel_request& r) {
    return visit_among(Types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
      return binary_kernel(r, plain_loop<Op, T, T>());
    });
  }};
}

template <binary_function F, class Op>
kernel_entry arithmetic() {
  return {.prepare = [](const kernel_request& r) {
    return visit_among(numeric_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
      return binary_kernel(r, arithmetic_loop<F, Op, T>());
    });
  }};
}

/// A kernel that refuses integer divisors of 0, which have no result.
template <class T>
std::unique_ptr<prepared_kernel> dividing_kernel(const kernel_request& r, const binary_loop& loop) {
  if constexpr (!std::is_integral_v<T>)
    return binary_kernel(r, loop);
  else
    return make_kernel(
        [loop, how = alignment_of(r.op)](kernel_context& ctx) {
          for (const auto divisor : ctx.input(1).template data<T>())
            if (divisor == T{0})
              throw error{errc::kernel_failed, "an integer is divided by 0"};
          run_binary(ctx, ctx.input(0), ctx.input(1), loop, how);
        },
        {.in_place = {{0, 0}, {0, 1}}});
}

kernel_entry division() {
  return {.prepare = [](const kernel_request& r) {
    return visit_among(numeric_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
      return dividing_kernel<T>(r, arithmetic_loop<binary_function::div, divided, T>());
    });
  }};
}

kernel_entry mod() {
  return {.prepare = [](const kernel_request& r) {
    const bool as_c = r.op.attributes().get<std::int64_t>("fmod", 0) != 0;
    return visit_among(numeric_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
      return dividing_kernel<T>(r, as_c ? plain_loop<remainder, T, T>() : plain_loop<modulo, T, T>());
    });
  }};
}

kernel_entry bit_shift() {
  return {.prepare = [](const kernel_request& r) {
    const auto& direction = r.op.attributes().get<std::string>("direction");
    if (direction != "LEFT" && direction != "RIGHT")
      throw error{errc::invalid_graph, "direction '" + direction + "' is neither LEFT nor RIGHT"};
    return visit_among(unsigned_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
      return binary_kernel(r, direction == "LEFT" ? plain_loop<shifted_left, T, T>()
                                                  : plain_loop<shifted_right, T, T>());
    });
  }};
}

/// The slope broadcasts to the input, never the other way round; before opset 7 a vector of slopes belongs to
/// the channels.
std::unique_ptr<prepared_kernel> prelu(const kernel_request& r) {
  using types =
      decltype(float_types{} + type_list<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>{});
  const bool by_channel = r.op.opset() < 7;
  return visit_among(types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
    return make_kernel(
        [by_channel](kernel_context& ctx) {
          const auto& x = ctx.input(0).shape();
          const auto& slope = ctx.input(1).shape();
          const bool channels = by_channel && slope.rank() == 1 && slope[0] != 1 && x.rank() > 1;
          run_binary(ctx, ctx.input(0), ctx.input(1), arithmetic_loop<binary_function::prelu, sloped, T>(),
                     {.legacy = true, .axis = channels ? 1 : -1});
        },
        in_place_of_first());
  });
}

} // namespace

void register_arithmetic(operator_library& lib) {
  lib.add(binary_schema("Add", 1), arithmetic<binary_function::add, wrapping_sum>());
  lib.add(binary_schema("Sub", 1), arithmetic<binary_function::sub, subtracted>());
  lib.add(binary_schema("Mul", 1), arithmetic<binary_function::mul, multiplied>());
  lib.add(binary_schema("Div", 1, 4), division());
  lib.add(binary_schema("Mod", 10, 20), mod());
  lib.add(binary_schema("BitShift", 11), bit_shift());
  lib.add(binary_schema("BitwiseAnd", 18), plain<bits_of_both>(integer_types{}));
  lib.add(binary_schema("BitwiseOr", 18), plain<bits_of_either>(integer_types{}));
  lib.add(binary_schema("BitwiseXor", 18), plain<bits_of_one>(integer_types{}));
  auto with_slopes = binary_schema("PRelu", 1, 2);
  with_slopes.infer = same_as_first;
  lib.add(std::move(with_slopes), {.prepare = prelu});
}

} // namespace sluice::ops
