#include <sluice/ops/operators.hpp>

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/broadcast.hpp>
#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/inference.hpp>

#include <array>
#include <cmath>
#include <limits>

/// Element-wise operators on 8-bit quantised tensors, from the domain com.microsoft, as quantisation tools
/// write them. A tensor comes with a scale and an optional zero point: its numbers are (q - zero) scale.
namespace sluice::ops {

namespace {

using bytes = type_list<std::uint8_t, std::int8_t>;

/// Scale and zero point of a quantised tensor.
struct quantisation {
  float scale = 1;
  float zero = 0;
};

template <class T>
quantisation read(const kernel_context& ctx, std::size_t scale) {
  quantisation q{.scale = ctx.input_value(scale).scalar<float>()};
  if (ctx.has_input(scale + 1))
    q.zero = static_cast<float>(ctx.input_value(scale + 1).template scalar<T>());
  return q;
}

template <class T>
T quantised(float x, quantisation q) {
  using limits = std::numeric_limits<T>;
  const auto steps = std::nearbyint(x / q.scale) + q.zero;
  return static_cast<T>(std::min(float{limits::max()}, std::max(float{limits::min()}, steps)));
}

template <class T>
std::size_t index_of(T q) {
  return static_cast<std::uint8_t>(q);
}

/// The number that each of the 256 bytes stands for, by its bits.
template <class T>
std::array<float, 256> numbers(quantisation q) {
  std::array<float, 256> table;
  for (int i = std::numeric_limits<T>::min(); i <= std::numeric_limits<T>::max(); ++i)
    table[index_of(static_cast<T>(i))] = (static_cast<float>(i) - q.zero) * q.scale;
  return table;
}

/// Inputs: a, its scale, its zero point, b, its scale, its zero point, the result's scale and zero point.
template <class T, class Op>
void combine(kernel_context& ctx) {
  const auto left = numbers<T>(read<T>(ctx, 1));
  const auto right = numbers<T>(read<T>(ctx, 4));
  const auto result = read<T>(ctx, 6);
  const broadcast_plan plan{ctx.input(0).shape(), ctx.input(3).shape()};
  const auto* a = ctx.input(0).data<T>().data();
  const auto* b = ctx.input(3).template data<T>().data();
  auto* y = ctx.output(0, plan.output()).template data<T>().data();
  const std::size_t step_a = plan.advances(0);
  const std::size_t step_b = plan.advances(1);
  for_each_run(ctx, plan, [&](const broadcast_plan::offsets& from, std::size_t first, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
      y[first + i] = quantised<T>(
          Op{}(left[index_of(a[from[0] + i * step_a])], right[index_of(b[from[1] + i * step_b])]), result);
  });
}

template <class Op>
void register_combining(operator_library& lib, std::string name) {
  lib.add(
      {.name = std::move(name),
       .min_inputs = 7,
       .max_inputs = 8,
       .infer =
           [](const op_view& op) {
             return std::vector<value_type>{value_type{op.element(0), broadcast(op.shape(0), op.shape(3))}};
           },
       .cost = elementwise_cost(4),
       .domain = "com.microsoft"},
      {.prepare = [](const kernel_request& r) {
        return visit_among(bytes{}, r.op.element(0),
                           []<class T>(std::type_identity<T>) { return make_kernel(combine<T, Op>); });
      }});
}

/// Inputs: x, its scale, its zero point, the result's scale and zero point. The function is tabulated.
template <class T, class F>
void look_up(kernel_context& ctx, F f) {
  const auto argument = numbers<T>(read<T>(ctx, 1));
  const auto result = read<T>(ctx, 3);
  std::array<T, 256> table;
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = quantised<T>(f(argument[i]), result);
  const auto x = ctx.input(0).data<T>();
  const auto y = ctx.output(0, ctx.input(0).shape()).template data<T>();
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = table[index_of(x[i])];
}

template <class Make>
void register_tabulated(operator_library& lib, std::string name, Make make_function) {
  lib.add({.name = std::move(name),
           .min_inputs = 4,
           .max_inputs = 5,
           .infer = same_as_first,
           .cost = elementwise_cost(1),
           .domain = "com.microsoft"},
          {.prepare = [make_function](const kernel_request& r) {
            const auto f = make_function(r.op.attributes());
            return visit_among(bytes{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
              return make_kernel([f](kernel_context& ctx) { look_up<T>(ctx, f); }, in_place_of_first());
            });
          }});
}

/// The mean over all axes but the first and the channels', which stand second or last.
template <class T>
void average(kernel_context& ctx, bool channels_last) {
  const auto& s = ctx.input(0).shape();
  if (s.rank() < 3)
    throw error{errc::kernel_failed, "there is nothing to average over in " + to_string(s)};
  const auto source = read<T>(ctx, 1);
  const auto result = read<T>(ctx, 3);
  const auto channel_axis = channels_last ? s.rank() - 1 : 1;
  std::array<std::int64_t, shape::max_rank> dims;
  dims.fill(1);
  dims[0] = s[0];
  dims[channel_axis] = s[channel_axis];
  const auto x = ctx.input(0).data<T>();
  const auto y =
      ctx.output(0, shape{std::span<const std::int64_t>{dims.data(), s.rank()}}).template data<T>();
  const auto channels = static_cast<std::size_t>(s[channel_axis]);
  const auto count =
      static_cast<std::size_t>(channels_last ? s.product(1, s.rank() - 1) : s.product(2, s.rank()));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto first = channels_last ? i / channels * channels * count + i % channels : i * count;
    const auto step = channels_last ? channels : 1;
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < count; ++k)
      sum += x[first + k * step];
    const auto mean = static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(count, 1));
    y[i] = quantised<T>(static_cast<float>(mean - static_cast<double>(source.zero)) * source.scale, result);
  }
}

std::vector<value_type> infer_average(const op_view& op) {
  const auto& s = op.shape(0);
  if (!s.has_rank() || s.rank() < 3)
    return {value_type{op.element(0), {}}};
  const bool channels_last = op.attributes().get<std::int64_t>("channels_last", 0) != 0;
  std::vector<dim> dims(s.rank(), dim{1});
  const auto channel_axis = channels_last ? s.rank() - 1 : 1;
  dims[0] = s[0];
  dims[channel_axis] = s[channel_axis];
  return {value_type{op.element(0), partial_shape{std::move(dims)}}};
}

struct added {
  float operator()(float a, float b) const { return a + b; }
};
struct multiplied {
  float operator()(float a, float b) const { return a * b; }
};

} // namespace

void register_qlinear(operator_library& lib) {
  register_combining<added>(lib, "QLinearAdd");
  register_combining<multiplied>(lib, "QLinearMul");
  register_tabulated(lib, "QLinearSigmoid",
                     [](const attribute_map&) { return [](float x) { return 1 / (1 + std::exp(-x)); }; });
  register_tabulated(lib, "QLinearLeakyRelu", [](const attribute_map& a) {
    return [slope = a.get("alpha", 0.01f)](float x) { return x < 0 ? slope * x : x; };
  });
  lib.add({.name = "QLinearGlobalAveragePool",
           .min_inputs = 4,
           .max_inputs = 5,
           .infer = infer_average,
           .domain = "com.microsoft"},
          {.prepare = [](const kernel_request& r) {
            const bool channels_last = r.op.attributes().get<std::int64_t>("channels_last", 0) != 0;
            return visit_among(bytes{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
              return make_kernel([channels_last](kernel_context& ctx) { average<T>(ctx, channels_last); });
            });
          }});
}

} // namespace sluice::ops
