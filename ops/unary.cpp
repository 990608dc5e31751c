#include <sluice/ops/operators.hpp>

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/small_floats.hpp>
#include <sluice/ops/vector_math.hpp>

#include <limits>

namespace sluice::ops {

namespace {

using parameters = std::array<double, 3>;

/// y = f(x) element by element for the types that the vector loops compute in.
template <class T>
void run(kernel_context& ctx, unary_function f, const parameters& given) {
  const auto& x = ctx.input(0);
  const auto* from = x.data<T>().data();
  auto* to = ctx.output(0, x.type(), x.shape()).template data<T>().data();
  using Computed = computed<T>;
  const std::array<Computed, 3> p = {static_cast<Computed>(given[0]), static_cast<Computed>(given[1]),
                                     static_cast<Computed>(given[2])};
  const auto loop = vector_math<Computed>()[f];
  ctx.parallel_for(
      static_cast<std::size_t>(x.elements()), elements_per_chunk, [&](std::size_t begin, std::size_t end) {
        if constexpr (is_small_float<T>)
          through_floats(from + begin, to + begin, end - begin,
                         [&](float* buffer, std::size_t n) { loop(buffer, buffer, n, p.data()); });
        else
          loop(from + begin, to + begin, end - begin, p.data());
      });
}

std::unique_ptr<prepared_kernel> float_kernel(element_type t, unary_function f, const parameters& p) {
  return visit_among(float_types{}, t, [&]<class T>(std::type_identity<T>) {
    return make_kernel([f, p](kernel_context& ctx) { run<T>(ctx, f, p); }, in_place_of_first());
  });
}

/// Y = op(X) element by element, by a plain loop.
template <class X, class Y, class Op>
std::unique_ptr<prepared_kernel> loop_kernel(Op op) {
  return make_kernel(
      [op](kernel_context& ctx) {
        const auto& x = ctx.input(0);
        const auto from = x.data<X>();
        const auto to = ctx.output(0, element_type_of<Y>, x.shape()).template data<Y>();
        ctx.parallel_for(from.size(), elements_per_chunk, [&](std::size_t begin, std::size_t end) {
          for (auto i = begin; i < end; ++i)
            to[i] = static_cast<Y>(op(static_cast<computed<X>>(from[i])));
        });
      },
      in_place_of_first());
}

using attributes_to_parameters = parameters (*)(const attribute_map&);

parameters none(const attribute_map&) {
  return {};
}

op_schema schema(std::string name, int since, double operations) {
  return {.name = std::move(name),
          .since_opset = since,
          .infer = same_as_first,
          .cost = elementwise_cost(operations)};
}

/// An operator for the floating-point types only.
kernel_entry floats(unary_function f, attributes_to_parameters read = none) {
  return {.prepare = [f, read](const kernel_request& r) {
    return float_kernel(r.op.element(0), f, read(r.op.attributes()));
  }};
}

/// An operator for the floating-point types, and by `op` for the types of the list.
template <class Types, class Op>
kernel_entry floats_and(Types, unary_function f, Op op) {
  return {.prepare = [f, op](const kernel_request& r) -> std::unique_ptr<prepared_kernel> {
    if (is_floating(r.op.element(0)))
      return float_kernel(r.op.element(0), f, {});
    return visit_among(Types{}, r.op.element(0),
                       [op]<class T>(std::type_identity<T>) { return loop_kernel<T, T>(op); });
  }};
}

std::vector<value_type> booleans(const op_view& op) {
  return {value_type{element_type::boolean, op.shape(0)}};
}

void register_plain(operator_library& lib) {
  lib.add(schema("Relu", 1, 1),
          floats_and(signed_types{}, unary_function::relu, []<class T>(T x) { return x < T{0} ? T{0} : x; }));
  lib.add(schema("Abs", 1, 1), floats_and(integer_types{}, unary_function::abs, []<class T>(T x) {
            return x < T{0} ? static_cast<T>(0 - wide(x)) : x;
          }));
  lib.add(schema("Neg", 1, 1), floats_and(signed_types{}, unary_function::neg,
                                          []<class T>(T x) { return static_cast<T>(0 - wide(x)); }));
  lib.add(schema("Sign", 9, 1), floats_and(integer_types{}, unary_function::sign, []<class T>(T x) {
            return static_cast<T>((x > T{0}) - (x < T{0}));
          }));
  lib.add(schema("Reciprocal", 1, 4), floats(unary_function::reciprocal));
  lib.add(schema("Sqrt", 1, 4), floats(unary_function::sqrt));
  lib.add(schema("Floor", 1, 1), floats(unary_function::floor));
  lib.add(schema("Ceil", 1, 1), floats(unary_function::ceil));
  lib.add(schema("Round", 11, 1), floats(unary_function::round));
}

void register_transcendental(operator_library& lib) {
  lib.add(schema("Exp", 1, 15), floats(unary_function::exp));
  lib.add(schema("Log", 1, 20), floats(unary_function::log));
  lib.add(schema("Tanh", 1, 25), floats(unary_function::tanh));
  lib.add(schema("Sigmoid", 1, 20), floats(unary_function::sigmoid));
  lib.add(schema("Erf", 9, 30), floats(unary_function::erf));
  lib.add(schema("Sin", 7, 100), floats(unary_function::sin));
  lib.add(schema("Cos", 7, 100), floats(unary_function::cos));
  lib.add(schema("Tan", 7, 150), floats(unary_function::tan));
  lib.add(schema("Asin", 7, 150), floats(unary_function::asin));
  lib.add(schema("Acos", 7, 150), floats(unary_function::acos));
  lib.add(schema("Atan", 7, 150), floats(unary_function::atan));
  lib.add(schema("Sinh", 9, 150), floats(unary_function::sinh));
  lib.add(schema("Cosh", 9, 150), floats(unary_function::cosh));
  lib.add(schema("Asinh", 9, 150), floats(unary_function::asinh));
  lib.add(schema("Acosh", 9, 150), floats(unary_function::acosh));
  lib.add(schema("Atanh", 9, 150), floats(unary_function::atanh));
}

void register_activations(operator_library& lib) {
  using map = attribute_map;
  lib.add(schema("LeakyRelu", 1, 2), floats(unary_function::leaky_relu, [](const map& a) -> parameters {
            return {a.get("alpha", 0.01f)};
          }));
  lib.add(schema("ThresholdedRelu", 10, 1),
          floats(unary_function::thresholded_relu,
                 [](const map& a) -> parameters { return {a.get("alpha", 1.0f)}; }));
  lib.add(schema("HardSigmoid", 1, 3), floats(unary_function::hard_sigmoid, [](const map& a) -> parameters {
            return {a.get("alpha", 0.2f), a.get("beta", 0.5f)};
          }));
  lib.add(schema("HardSwish", 14, 4), floats(unary_function::hard_swish));
  lib.add(schema("Elu", 1, 40), floats(unary_function::exp_linear, [](const map& a) -> parameters {
            return {a.get("alpha", 1.0f), 1, 1};
          }));
  const auto selu = [](double alpha, double gamma) -> parameters { return {alpha * gamma, 1, gamma}; };
  static_assert(std::is_empty_v<decltype(selu)>);
  lib.add(schema("Selu", 1, 40), floats(unary_function::exp_linear, [](const map& a) {
            return decltype(selu){}(a.get("alpha", 1.6732f), a.get("gamma", 1.0507f));
          }));
  lib.add(schema("Selu", 6, 40), floats(unary_function::exp_linear, [](const map& a) {
            return decltype(selu){}(a.get("alpha", 1.67326319217681884765625f),
                                    a.get("gamma", 1.05070102214813232421875f));
          }));
  lib.add(schema("Celu", 12, 40), floats(unary_function::exp_linear, [](const map& a) -> parameters {
            const auto alpha = a.get("alpha", 1.0f);
            return {alpha, 1.0 / static_cast<double>(alpha), 1};
          }));
  lib.add(schema("Softplus", 1, 40), floats(unary_function::softplus));
  lib.add(schema("Softsign", 1, 5), floats(unary_function::softsign));
  lib.add(schema("Swish", 24, 20),
          floats(unary_function::swish, [](const map& a) -> parameters { return {a.get("alpha", 1.0f)}; }));
  lib.add(schema("Mish", 18, 25), floats(unary_function::mish));
  lib.add(schema("Gelu", 20, 35), {.prepare = [](const kernel_request& r) {
            const auto how = r.op.attributes().get<std::string>("approximate", "none");
            if (how != "none" && how != "tanh")
              throw error{errc::invalid_graph, "Gelu has no approximation '" + how + "'"};
            return float_kernel(r.op.element(0),
                                how == "tanh" ? unary_function::gelu_tanh : unary_function::gelu, {});
          }});
}

void register_tests(operator_library& lib) {
  auto is_nan = schema("IsNaN", 9, 1);
  is_nan.infer = booleans;
  lib.add(std::move(is_nan), {.prepare = [](const kernel_request& r) {
            return visit_among(float_types{}, r.op.element(0), []<class T>(std::type_identity<T>) {
              return loop_kernel<T, bool>([](auto x) { return x != x; });
            });
          }});
  auto is_inf = schema("IsInf", 10, 1);
  is_inf.infer = booleans;
  lib.add(std::move(is_inf), {.prepare = [](const kernel_request& r) {
            const bool negative = r.op.attributes().get<std::int64_t>("detect_negative", 1) != 0;
            const bool positive = r.op.attributes().get<std::int64_t>("detect_positive", 1) != 0;
            return visit_among(float_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
              return loop_kernel<T, bool>([negative, positive]<class X>(X x) {
                constexpr auto infinity = std::numeric_limits<X>::infinity();
                return (positive && x == infinity) || (negative && x == -infinity);
              });
            });
          }});
  lib.add(schema("Not", 1, 1), {.prepare = [](const kernel_request& r) {
            return visit_among(type_list<bool>{}, r.op.element(0), []<class T>(std::type_identity<T>) {
              return loop_kernel<T, T>([](bool x) { return !x; });
            });
          }});
  lib.add(schema("BitwiseNot", 18, 1), {.prepare = [](const kernel_request& r) {
            return visit_among(integer_types{}, r.op.element(0), []<class T>(std::type_identity<T>) {
              return loop_kernel<T, T>([](T x) { return static_cast<T>(~wide(x)); });
            });
          }});
}

/// Shrink's output keeps the type, integers included.
void register_shrink(operator_library& lib) {
  lib.add(schema("Shrink", 9, 2),
          {.prepare = [](const kernel_request& r) -> std::unique_ptr<prepared_kernel> {
            const double bias = r.op.attributes().get("bias", 0.0f);
            const double lambd = r.op.attributes().get("lambd", 0.5f);
            const auto t = r.op.element(0);
            if (is_floating(t))
              return float_kernel(t, unary_function::shrink, {bias, lambd});
            return visit_among(integer_types{}, t, [=]<class T>(std::type_identity<T>) {
              return loop_kernel<T, T>([=](T x) {
                const auto v = static_cast<double>(x);
                return v < -lambd ? v + bias : v > lambd ? v - bias : 0;
              });
            });
          }});
}

void register_clip(operator_library& lib) {
  const auto attribute_clip = [](const attribute_map& a) -> parameters {
    using limits = std::numeric_limits<float>;
    return {a.get("min", limits::lowest()), a.get("max", limits::max())};
  };
  lib.add(schema("Clip", 1, 2), floats(unary_function::clip, attribute_clip));

  auto input_clip = schema("Clip", 11, 2);
  input_clip.max_inputs = 3;
  lib.add(std::move(input_clip), {.prepare = [](const kernel_request& r) -> std::unique_ptr<prepared_kernel> {
            return visit_among(numeric_types{}, r.op.element(0), []<class T>(std::type_identity<T>) {
              return make_kernel(
                  [](kernel_context& ctx) {
                    using Computed = computed<T>;
                    using limits = std::numeric_limits<Computed>;
                    const auto bound = [&](std::size_t i, Computed otherwise) {
                      return ctx.has_input(i) ? static_cast<Computed>(ctx.input_value(i).template scalar<T>())
                                              : otherwise;
                    };
                    const auto low = bound(1, limits::lowest());
                    const auto high = bound(2, limits::max());
                    if constexpr (std::is_floating_point_v<Computed>)
                      run<T>(ctx, unary_function::clip, {low, high});
                    else {
                      const auto& x = ctx.input(0);
                      const auto from = x.data<T>();
                      const auto to = ctx.output(0, x.type(), x.shape()).template data<T>();
                      for (std::size_t i = 0; i < from.size(); ++i)
                        to[i] = std::min(high, std::max(low, from[i]));
                    }
                  },
                  in_place_of_first());
            });
          }});
}

void register_identity(operator_library& lib) {
  auto identity = schema("Identity", 1, 0);
  identity.aliases = {{0, 0}};
  lib.add(std::move(identity), {.prepare = [](const kernel_request&) {
            return make_kernel([](kernel_context& ctx) { ctx.set_output(0, ctx.input_value(0)); });
          }});
}

} // namespace

void register_unary(operator_library& lib) {
  register_plain(lib);
  register_transcendental(lib);
  register_activations(lib);
  register_tests(lib);
  register_shrink(lib);
  register_clip(lib);
  register_identity(lib);
}

} // namespace sluice::ops
