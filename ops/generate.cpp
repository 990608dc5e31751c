#include <sluice/ops/operators.hpp>

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/inference.hpp>

#include <cmath>
#include <cstring>

namespace sluice::ops {

namespace {

/// Fills `y` with copies of one element's bytes.
void fill(tensor& y, const std::byte* element, std::size_t size) {
  auto* to = static_cast<std::byte*>(y.raw());
  const auto total = static_cast<std::size_t>(y.elements()) * size;
  if (total == 0)
    return;
  std::memcpy(to, element, size);
  for (auto done = size; done < total; done *= 2) // what is there already, again
    std::memcpy(to + done, to, std::min(done, total - done));
}

/// The value that ConstantOfShape repeats: a tensor of one element, float 0 by default.
value repeated(const op_view& op) {
  const auto* given = op.attributes().find<value>("value");
  if (!given)
    return tensor::of_scalar(0.0f);
  if (given->tensor().elements() != 1 || given->tensor().type() == element_type::string)
    throw error{errc::invalid_graph, "its value is " + describe(*given) + ", not one number"};
  return *given;
}

shape checked_shape(std::span<const std::int64_t> dims) {
  try {
    return shape{dims};
  } catch (const error& e) {
    throw error{errc::kernel_failed, std::string{"the asked shape is impossible: "} + e.what()};
  }
}

std::vector<value_type> infer_constant_of_shape(const op_view& op) {
  const auto type = repeated(op).tensor().type();
  if (const auto dims = op.constant_integers(0))
    return {value_type{type, checked_shape(*dims)}};
  const auto& s = op.shape(0);
  if (s.has_rank() && s.rank() == 1 && s[0].known() && s[0].extent() <= std::int64_t{shape::max_rank})
    return {value_type{type, partial_shape{std::vector<dim>(static_cast<std::size_t>(s[0].extent()))}}};
  return {value_type{type, {}}};
}

std::unique_ptr<prepared_kernel> constant_of_shape(const kernel_request& r) {
  return make_kernel([element = repeated(r.op)](kernel_context& ctx) {
    const auto& t = element.tensor();
    fill(ctx.output(0, t.type(), checked_shape(ctx.input(0).data<std::int64_t>())),
         static_cast<const std::byte*>(t.raw()), size_of(t.type()));
  });
}

/// How many numbers lie in [start, limit) at distance delta.
template <class T>
std::int64_t range_length(T start, T limit, T delta) {
  // 64 bits of mantissa hold every difference of integers.
  const auto steps = std::ceil((static_cast<long double>(limit) - static_cast<long double>(start)) /
                               static_cast<long double>(delta));
  if (delta == T{0} || std::isnan(steps))
    throw error{errc::kernel_failed, "a range with step 0 or NaN has no end"};
  if (steps > 0x1p48L)
    throw error{errc::kernel_failed, "the range is longer than any memory"};
  return steps > 0 ? static_cast<std::int64_t>(steps) : 0;
}

template <class T>
void range(kernel_context& ctx) {
  const auto at = [&](std::size_t i) {
    return static_cast<computed<T>>(ctx.input_value(i).template scalar<T>());
  };
  const auto start = at(0);
  const auto delta = at(2);
  const auto n = range_length(start, at(1), delta);
  const auto y = ctx.output(0, shape{n}).template data<T>();
  for (std::size_t i = 0; i < y.size(); ++i)
    if constexpr (std::is_integral_v<T>)
      y[i] = static_cast<T>(wide(start) + i * wide(delta));
    else
      y[i] = static_cast<T>(start + static_cast<computed<T>>(i) * delta);
}

std::vector<value_type> infer_range(const op_view& op) {
  const auto type = op.element(0);
  dim length;
  if (type == element_type::int32 || type == element_type::int64) {
    const auto start = op.constant_integers(0);
    const auto limit = op.constant_integers(1);
    const auto delta = op.constant_integers(2);
    if (start && limit && delta && start->size() == 1 && limit->size() == 1 && delta->size() == 1)
      length = range_length(start->front(), limit->front(), delta->front());
  }
  return {value_type{type, {length}}};
}

std::unique_ptr<prepared_kernel> eye_like(const kernel_request& r) {
  const auto k = r.op.attributes().get<std::int64_t>("k", 0);
  return visit_among(most_types{}, stated_element(r.op.attributes(), "dtype", r.op.element(0)),
                     [k]<class T>(std::type_identity<T>) {
                       return make_kernel([k](kernel_context& ctx) {
                         const auto& s = ctx.input(0).shape();
                         if (s.rank() != 2)
                           throw error{errc::kernel_failed, "EyeLike takes a matrix, not " + to_string(s)};
                         const auto y = ctx.output(0, element_type_of<T>, s).template data<T>();
                         std::fill(y.begin(), y.end(), T(static_cast<computed<T>>(0)));
                         for (auto row = std::max<std::int64_t>(0, k < -s[0] ? s[0] : -k); row < s[0];
                              ++row) {
                           if (k >= s[1] - row)
                             break;
                           y[static_cast<std::size_t>(row * s[1] + row + k)] = T(static_cast<computed<T>>(1));
                         }
                       });
                     });
}

/// The value that a Constant node holds, in one of the attributes that its versions know.
value held_constant(const op_view& op) {
  const auto& a = op.attributes();
  if (const auto* v = a.find<value>("value"))
    return *v;
  if (const auto* x = a.find<float>("value_float"))
    return tensor::of_scalar(*x);
  if (const auto* x = a.find<std::int64_t>("value_int"))
    return tensor::of_scalar(*x);
  if (const auto* x = a.find<std::string>("value_string"))
    return tensor::of_scalar(*x);
  const auto list = [](const auto& x) -> value {
    using T = typename std::remove_cvref_t<decltype(x)>::value_type;
    return tensor::of<T>({static_cast<std::int64_t>(x.size())}, std::span<const T>{x});
  };
  if (const auto* x = a.find<std::vector<float>>("value_floats"))
    return list(*x);
  if (const auto* x = a.find<std::vector<std::int64_t>>("value_ints"))
    return list(*x);
  if (const auto* x = a.find<std::vector<std::string>>("value_strings"))
    return list(*x);
  throw error{errc::unsupported, "a constant without a value that is known"};
}

} // namespace

void register_generate(operator_library& lib) {
  lib.add(
      {.name = "Constant",
       .min_inputs = 0,
       .max_inputs = 0,
       .infer = [](const op_view& op) { return std::vector<value_type>{value_type::of(held_constant(op))}; }},
      {.prepare = [](const kernel_request& r) {
        return make_kernel([v = held_constant(r.op)](kernel_context& ctx) { ctx.set_output(0, v); });
      }});
  lib.add({.name = "ConstantOfShape",
           .since_opset = 9,
           .infer = infer_constant_of_shape,
           .cost = elementwise_cost()},
          {.prepare = constant_of_shape});
  lib.add({.name = "Range",
           .since_opset = 11,
           .min_inputs = 3,
           .max_inputs = 3,
           .infer = infer_range,
           .cost = elementwise_cost()},
          {.prepare = [](const kernel_request& r) {
            using types = decltype(float_types{} + type_list<std::int16_t, std::int32_t, std::int64_t>{});
            return visit_among(types{}, r.op.element(0),
                               []<class T>(std::type_identity<T>) { return make_kernel(range<T>); });
          }});
  lib.add({.name = "EyeLike",
           .since_opset = 9,
           .infer =
               [](const op_view& op) {
                 return std::vector<value_type>{
                     value_type{stated_element(op.attributes(), "dtype", op.element(0)), op.shape(0)}};
               },
           .cost = elementwise_cost()},
          {.prepare = eye_like});
}

} // namespace sluice::ops
