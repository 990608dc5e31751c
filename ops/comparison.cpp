#include <sluice/ops/operators.hpp>

#include <sluice/ops/binary.hpp>
#include <sluice/ops/broadcast.hpp>
#include <sluice/ops/inference.hpp>

#include <cstring>
#include <functional>
#include <string>

namespace sluice::ops {

namespace {

template <class Op>
std::unique_ptr<prepared_kernel> compare(const kernel_request& r) {
  return visit_among(most_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
    return binary_kernel(r, plain_loop<Op, T, bool>());
  });
}

struct equal_strings {
  bool operator()(const std::string& a, const std::string& b) const { return a == b; }
};

std::unique_ptr<prepared_kernel> equal(const kernel_request& r) {
  if (r.op.element(0) == element_type::string)
    return binary_kernel(r, plain_loop<equal_strings, std::string, bool>());
  return compare<std::equal_to<>>(r);
}

struct differ {
  bool operator()(bool a, bool b) const { return a != b; }
};

template <class Op>
std::unique_ptr<prepared_kernel> logic(const kernel_request& r) {
  return visit_among(type_list<bool>{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
    return binary_kernel(r, plain_loop<Op, T, T>());
  });
}

/// Elements are only moved, so one kernel serves all types of a size.
template <class T>
void select(kernel_context& ctx) {
  const auto& condition = ctx.input(0);
  const auto& yes = ctx.input(1);
  const auto& no = ctx.input(2);
  const broadcast_plan plan{condition.shape(), yes.shape(), no.shape()};
  auto& output = ctx.output(0, yes.type(), plan.output());
  const auto* take = condition.data<bool>().data();
  const auto* x = static_cast<const T*>(yes.raw());
  const auto* y = static_cast<const T*>(no.raw());
  auto* to = static_cast<T*>(output.raw());
  const std::size_t c_step = plan.advances(0);
  const std::size_t x_step = plan.advances(1);
  const std::size_t y_step = plan.advances(2);
  for_each_run(ctx, plan, [&](const broadcast_plan::offsets& from, std::size_t first, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
      to[first + i] = take[from[0] + i * c_step] ? x[from[1] + i * x_step] : y[from[2] + i * y_step];
  });
}

std::unique_ptr<prepared_kernel> where(const kernel_request& r) {
  const auto t = r.op.element(1);
  if (r.op.element(0) != element_type::boolean || t != r.op.element(2))
    throw error{errc::unsupported, "Where takes a bool condition and two inputs of one type"};
  if (t == element_type::string)
    return make_kernel(select<std::string>);
  switch (size_of(t)) {
  case 1:
    return make_kernel(select<std::uint8_t>);
  case 2:
    return make_kernel(select<std::uint16_t>);
  case 4:
    return make_kernel(select<std::uint32_t>);
  case 8:
    return make_kernel(select<std::uint64_t>);
  default:
    return make_kernel(select<std::complex<double>>);
  }
}

} // namespace

void register_comparison(operator_library& lib) {
  lib.add(comparison_schema("Equal", 1), {.prepare = equal});
  lib.add(comparison_schema("Greater", 1), {.prepare = compare<std::greater<>>});
  lib.add(comparison_schema("Less", 1), {.prepare = compare<std::less<>>});
  lib.add(comparison_schema("GreaterOrEqual", 12), {.prepare = compare<std::greater_equal<>>});
  lib.add(comparison_schema("LessOrEqual", 12), {.prepare = compare<std::less_equal<>>});
  lib.add(comparison_schema("And", 1), {.prepare = logic<std::logical_and<>>});
  lib.add(comparison_schema("Or", 1), {.prepare = logic<std::logical_or<>>});
  lib.add(comparison_schema("Xor", 1), {.prepare = logic<differ>});
  lib.add({.name = "Where",
           .since_opset = 9,
           .min_inputs = 3,
           .max_inputs = 3,
           .infer =
               [](const op_view& op) {
                 return std::vector<value_type>{
                     value_type{op.element(1), broadcast(broadcast(op.shape(0), op.shape(1)), op.shape(2))}};
               },
           .cost = elementwise_cost()},
          {.prepare = where});
}

} // namespace sluice::ops
