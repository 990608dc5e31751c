#include <sluice/ops/inference.hpp>
#include <sluice/ops/operand.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/resize_plan.hpp>

#include <limits>

namespace sluice::ops {

namespace {

// Elements written that make a chunk worth handing to another thread.
constexpr std::size_t chunk_elements = 1u << 14;

/// Resizes one axis of x [outer, in, inner] into y [outer, out, inner].
template <class C>
void resize_axis(const kernel_context& ctx, const axis_weights& w, const axis_plan& a, std::size_t outer,
                 std::size_t inner, const C* x, C* y) {
  const auto out = static_cast<std::size_t>(a.out);
  const auto in = static_cast<std::size_t>(a.in);
  const std::vector<C> weights(w.weight.begin(), w.weight.end());
  if (inner == 1) { // along rows
    ctx.parallel_for(outer, std::max<std::size_t>(1, chunk_elements / out),
                     [&](std::size_t begin, std::size_t end) {
                       for (auto row = begin; row < end; ++row) {
                         const auto* from = x + row * in;
                         for (std::size_t i = 0; i < out; ++i) {
                           C sum = 0;
                           for (std::size_t k = 0; k < w.taps; ++k)
                             sum += weights[i * w.taps + k] * from[w.from[i * w.taps + k]];
                           y[row * out + i] = sum;
                         }
                       }
                     });
    return;
  }
  ctx.parallel_for(outer * out, std::max<std::size_t>(1, chunk_elements / inner),
                   [&](std::size_t begin, std::size_t end) {
                     for (auto row = begin; row < end; ++row) {
                       const auto* plane = x + row / out * in * inner;
                       const auto first_tap = row % out * w.taps;
                       auto* to = y + row * inner;
                       for (std::size_t k = 0; k < w.taps; ++k) {
                         const auto weight = weights[first_tap + k];
                         const auto* from = plane + static_cast<std::size_t>(w.from[first_tap + k]) * inner;
                         for (std::size_t j = 0; j < inner; ++j)
                           to[j] = (k == 0 ? C{} : to[j]) + weight * from[j];
                       }
                     }
                   });
}

/// Where an output lies outside in any axis it takes the constant.
template <class T>
void extrapolate(const std::vector<axis_plan>& axes, const std::vector<axis_weights>& weights,
                 const T& constant, T* y) {
  auto outer = std::int64_t{1};
  const auto s = plan_shape(axes, axes.size());
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const auto inner = s.product(axis + 1, s.rank());
    if (!weights[axis].outside.empty())
      for (std::int64_t row = 0; row < outer * s[axis]; ++row)
        if (weights[axis].outside[static_cast<std::size_t>(row % s[axis])])
          std::fill_n(y + row * inner, inner, constant);
    outer *= s[axis];
  }
}

/// The nearest element is copied as it is, whatever its type.
template <class T>
void pick_nearest(const kernel_context& ctx, const std::vector<axis_plan>& axes,
                  const std::vector<axis_weights>& weights, const T* x, T* y) {
  const auto s = plan_shape(axes, axes.size());
  const auto last = s.rank() - 1;
  const auto row = static_cast<std::size_t>(s[last]);
  const auto rows = static_cast<std::size_t>(s.product(0, last));
  const auto& from = weights[last].from;
  ctx.parallel_for(rows, std::max<std::size_t>(1, chunk_elements / std::max<std::size_t>(1, row)),
                   [&](std::size_t begin, std::size_t end) {
                     for (auto i = begin; i < end; ++i) {
                       auto rest = i;
                       std::int64_t offset = 0;
                       std::int64_t elements = axes[last].in;
                       for (auto axis = last; axis-- > 0;) {
                         const auto extent = static_cast<std::size_t>(s[axis]);
                         offset += weights[axis].from[rest % extent] * elements;
                         rest /= extent;
                         elements *= axes[axis].in;
                       }
                       const auto* source = x + offset;
                       for (std::size_t j = 0; j < row; ++j)
                         y[i * row + j] = source[from[j]];
                     }
                   });
}

template <class T>
T converted(double x) {
  if constexpr (!std::is_arithmetic_v<T> && !std::is_same_v<T, float16> && !std::is_same_v<T, bfloat16>)
    return T{};
  else if constexpr (std::is_same_v<T, bool>)
    return x != 0;
  else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
    return T{static_cast<float>(x)};
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(std::clamp(x, static_cast<double>(std::numeric_limits<T>::lowest()),
                                     static_cast<double>(std::numeric_limits<T>::max())));
  else
    return static_cast<T>(x);
}

/// Which input is what; `none` where an opset has no such input.
struct resize_inputs {
  static constexpr std::size_t none = 99;
  std::size_t roi = none;
  std::size_t scales = none;
  std::size_t sizes = none;
};

/// Scales from the attribute of the oldest Upsample.
std::vector<float> attribute_scales(const op_view& op) {
  return op.attributes().get<std::vector<float>>("scales", {});
}

std::vector<float> floats(const tensor& t) {
  if (t.type() == element_type::float32)
    return {t.data<float>().begin(), t.data<float>().end()};
  std::vector<float> result;
  if (t.type() == element_type::float16)
    for (const auto x : t.data<float16>())
      result.push_back(static_cast<float>(x));
  else
    for (const auto x : t.data<double>())
      result.push_back(static_cast<float>(x));
  return result;
}

std::vector<value_type> infer_resize(const op_view& op, resize_inputs in) {
  const auto& x = op.shape(0);
  const auto rank_only = [&] {
    return std::vector{value_type{op.element(0), x.has_rank() ? partial_shape{std::vector<dim>(x.rank())}
                                                              : partial_shape{}}};
  };
  const auto constant = [&](std::size_t i) -> const value& {
    static const value nothing;
    return op.has_input(i) ? op.constant(i) : nothing;
  };
  resize_request r{.scales = attribute_scales(op)};
  const auto& sizes = constant(in.sizes);
  if (!sizes.empty() && sizes.tensor().elements() > 0) {
    const auto given = sizes.tensor().data<std::int64_t>();
    std::vector<dim> dims;
    for (const auto n : given) {
      if (n < 0)
        throw error{errc::invalid_graph, "a size of " + std::to_string(n)};
      dims.emplace_back(n);
    }
    return {value_type{op.element(0), partial_shape{std::move(dims)}}};
  }
  if (const auto& scales = constant(in.scales); !scales.empty())
    r.scales = floats(scales.tensor());
  if (const auto& roi = constant(in.roi); !roi.empty())
    r.roi = floats(roi.tensor());
  const auto where = in.sizes == resize_inputs::none ? coordinates::asymmetric : resize_options_of(op).where;
  if (r.scales.empty() || !x.has_rank() || (where == coordinates::tf_crop_and_resize && r.roi.empty()))
    return rank_only();
  std::vector<std::int64_t> known;
  for (const auto& d : x.dims())
    known.push_back(d.known() ? d.extent() : 1);
  const auto axes = plan_axes(shape{known}, r, where);
  std::vector<dim> dims;
  for (std::size_t i = 0; i < axes.size(); ++i)
    dims.push_back(x[i].known() ? dim{axes[i].out} : axes[i].unchanged() ? x[i] : dim{});
  return {value_type{op.element(0), partial_shape{std::move(dims)}}};
}

std::vector<axis_weights> weights_of(const std::vector<axis_plan>& axes, const resize_options& o) {
  std::vector<axis_weights> weights;
  for (const auto& a : axes)
    weights.emplace_back(a, o);
  return weights;
}

void resize_nearest(kernel_context& ctx, const std::vector<axis_plan>& axes, const resize_options& o) {
  const auto& x = ctx.input(0);
  visit_element_type(x.type(), [&]<class T>(std::type_identity<T>) {
    const auto y = ctx.output(0, x.type(), plan_shape(axes, axes.size())).template data<T>();
    if (y.empty())
      return;
    if (axes.empty()) {
      y[0] = x.template data<T>()[0];
      return;
    }
    const auto weights = weights_of(axes, o);
    pick_nearest(ctx, axes, weights, x.template data<T>().data(), y.data());
    extrapolate(axes, weights, converted<T>(o.extrapolation), y.data());
  });
}

/// Linear or cubic, axis by axis, in `C`.
template <class T, class C>
void resize_weighted(kernel_context& ctx, const std::vector<axis_plan>& axes, const resize_options& o) {
  const auto given = ctx.input(0).data<T>();
  const auto y = ctx.output(0, element_type_of<T>, plan_shape(axes, axes.size())).template data<T>();
  if (y.empty())
    return;
  const auto weights = weights_of(axes, o);
  scratch_array<C> held;
  const C* x = nullptr;
  if constexpr (std::is_same_v<T, C>) {
    x = given.data();
  } else {
    held = scratch_array<C>{ctx, given.size()};
    for (std::size_t i = 0; i < given.size(); ++i)
      held.data()[i] = static_cast<C>(given[i]);
    x = held.data();
  }
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].unchanged() && o.where != coordinates::tf_half_pixel_for_nn)
      continue;
    const auto to_shape = plan_shape(axes, axis + 1);
    const auto extent = [](std::int64_t n) { return static_cast<std::size_t>(n); };
    scratch_array<C> made{ctx, extent(to_shape.elements())};
    resize_axis(ctx, weights[axis], axes[axis], extent(to_shape.product(0, axis)),
                extent(to_shape.product(axis + 1, to_shape.rank())), x, made.data());
    held = std::move(made);
    x = held.data();
  }
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = converted<T>(static_cast<double>(x[i]));
  extrapolate(axes, weights, converted<T>(o.extrapolation), y.data());
}

void resize(kernel_context& ctx, const std::vector<axis_plan>& axes, const resize_options& o) {
  if (o.how == mode::nearest)
    return resize_nearest(ctx, axes, o);
  switch (ctx.input(0).type()) {
  case element_type::float32:
    return resize_weighted<float, float>(ctx, axes, o);
  case element_type::float64:
    return resize_weighted<double, double>(ctx, axes, o);
  case element_type::float16:
    return resize_weighted<float16, float>(ctx, axes, o);
  case element_type::bfloat16:
    return resize_weighted<bfloat16, float>(ctx, axes, o);
  case element_type::uint8:
    return resize_weighted<std::uint8_t, float>(ctx, axes, o);
  case element_type::int8:
    return resize_weighted<std::int8_t, float>(ctx, axes, o);
  case element_type::int32:
    return resize_weighted<std::int32_t, double>(ctx, axes, o);
  default:
    throw error{errc::unsupported,
                "interpolation of " + std::string{to_string(ctx.input(0).type())} + " is not supported"};
  }
}

prepare_function prepare_resize(resize_inputs in, bool old) {
  return [in, old](const kernel_request& r) {
    return make_kernel([in, options = old ? old_resize_options(r.op) : resize_options_of(r.op),
                        scales = attribute_scales(r.op)](kernel_context& ctx) {
      resize_request request{.scales = scales};
      if (ctx.has_input(in.roi))
        request.roi = floats(ctx.input(in.roi));
      if (ctx.has_input(in.scales))
        request.scales = floats(ctx.input(in.scales));
      if (ctx.has_input(in.sizes)) {
        const auto sizes = ctx.input(in.sizes).data<std::int64_t>();
        request.sizes.assign(sizes.begin(), sizes.end());
      }
      resize(ctx, plan_axes(ctx.input(0).shape(), request, options.where), options);
    });
  };
}

void add(operator_library& lib, const char* name, int since, resize_inputs in, std::size_t most_inputs,
         bool old) {
  lib.add({.name = name,
           .since_opset = since,
           .max_inputs = most_inputs,
           .infer = [in](const op_view& op) { return infer_resize(op, in); },
           .cost = elementwise_cost(4)},
          {prepare_resize(in, old)});
}

} // namespace

void register_resize(operator_library& lib) {
  add(lib, "Upsample", 1, {}, 1, true);
  add(lib, "Upsample", 9, {.scales = 1}, 2, true);
  add(lib, "Resize", 10, {.scales = 1}, 2, true);
  add(lib, "Resize", 11, {.roi = 1, .scales = 2, .sizes = 3}, 4, false);
}

} // namespace sluice::ops
