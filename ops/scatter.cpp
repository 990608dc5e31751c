#include <sluice/ops/indexing.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>

namespace sluice::ops {

namespace {

enum class reduction { none, add, mul, max, min };

reduction reduction_of(const attribute_map& attributes) {
  const auto name = attributes.get<std::string>("reduction", "none");
  if (name == "none")
    return reduction::none;
  if (name == "add")
    return reduction::add;
  if (name == "mul")
    return reduction::mul;
  if (name == "max")
    return reduction::max;
  if (name == "min")
    return reduction::min;
  throw error{errc::unsupported, "reduction '" + name + "' is not known"};
}

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

template <class T>
T reduced(reduction how, T a, T b) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return T{reduced(how, static_cast<float>(a), static_cast<float>(b))};
  } else if constexpr (std::is_same_v<T, bool>) {
    return how == reduction::add || how == reduction::max ? a || b : a && b;
  } else {
    if (how == reduction::add)
      return static_cast<T>(a + b);
    if (how == reduction::mul)
      return static_cast<T>(a * b);
    if constexpr (is_complex<T>)
      throw error{errc::unsupported, "complex numbers have no order"};
    else
      return how == reduction::max ? std::max(a, b) : std::min(a, b);
  }
}

/// Calls f(assign) where assign(target offset, update offset) moves or reduces one element.
template <class F>
void with_assignment(element_type type, reduction how, void* target, const void* updates, F f) {
  if (how == reduction::none)
    return visit_element_size(type, [&]<class T>(std::type_identity<T>) {
      auto* to = static_cast<T*>(target);
      const auto* from = static_cast<const T*>(updates);
      f([=](std::int64_t t, std::int64_t u) { to[t] = from[u]; });
    });
  visit_element_type(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, std::string>) {
      throw error{errc::unsupported, "strings cannot be reduced"};
    } else {
      auto* to = static_cast<T*>(target);
      const auto* from = static_cast<const T*>(updates);
      f([=](std::int64_t t, std::int64_t u) { to[t] = reduced(how, to[t], from[u]); });
    }
  });
}

/// The output with the data in it, in the bytes of the input where that is permitted.
tensor& output_with_data(kernel_context& ctx) {
  const auto& data = ctx.input(0);
  if (ctx.input(2).type() != data.type())
    throw error{errc::kernel_failed, "updates of " + std::string{to_string(ctx.input(2).type())} +
                                         " for data of " + std::string{to_string(data.type())}};
  auto& out = ctx.output(0, data.type(), data.shape());
  if (out.raw() != data.raw())
    copy_elements(data.type(), data.raw(), out.raw(), data.elements());
  return out;
}

const kernel_traits in_place{.in_place = {{0, 0}}};

kernel_entry scatter_elements_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel(
        [axis_given = r.op.attributes().get<std::int64_t>("axis", 0),
         how = reduction_of(r.op.attributes())](kernel_context& ctx) {
          const auto data = ctx.input(0).shape();
          const auto& s = ctx.input(1).shape();
          const auto axis = axis_of(axis_given, data.rank());
          require_within(s, data, axis);
          if (ctx.input(2).shape() != s)
            throw error{errc::kernel_failed, "updates of shape " + to_string(ctx.input(2).shape()) +
                                                 " for indices of shape " + to_string(s)};
          auto indices = integers_of(ctx.input(1));
          for (auto& i : indices)
            i = index_of(i, data[axis]);
          auto& out = output_with_data(ctx);
          const auto strides = strides_of(data);
          with_assignment(out.type(), how, out.raw(), ctx.input(2).raw(), [&](auto assign) {
            for (std::size_t i = 0; i < indices.size(); ++i) {
              auto at = indices[i] * strides[axis];
              auto rest = static_cast<std::int64_t>(i);
              for (auto a = s.rank(); a-- > 0; rest /= s[a])
                if (a != axis)
                  at += rest % s[a] * strides[a];
              assign(at, static_cast<std::int64_t>(i));
            }
          });
        },
        in_place);
  }};
}

kernel_entry scatter_nd_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel(
        [how = reduction_of(r.op.attributes())](kernel_context& ctx) {
          const auto data = ctx.input(0).shape();
          const auto plan = index_tuples(integers_of(ctx.input(1)), ctx.input(1).shape(), data, 0);
          if (ctx.input(2).elements() != static_cast<std::int64_t>(plan.offsets.size()) * plan.run)
            throw error{errc::kernel_failed, "updates of shape " + to_string(ctx.input(2).shape()) +
                                                 " for indices of shape " + to_string(ctx.input(1).shape())};
          auto& out = output_with_data(ctx);
          with_assignment(out.type(), how, out.raw(), ctx.input(2).raw(), [&](auto assign) {
            for (std::size_t i = 0; i < plan.offsets.size(); ++i)
              for (std::int64_t j = 0; j < plan.run; ++j)
                assign(plan.offsets[i] + j, static_cast<std::int64_t>(i) * plan.run + j);
          });
        },
        in_place);
  }};
}

// MaxUnpool

struct unpooling {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> pads;

  explicit unpooling(const attribute_map& a)
    : kernel(a.get<std::vector<std::int64_t>>("kernel_shape")),
      strides(a.get("strides", std::vector<std::int64_t>(kernel.size(), 1))),
      pads(a.get("pads", std::vector<std::int64_t>(2 * kernel.size(), 0))) {
    if (strides.size() != kernel.size() || pads.size() != 2 * kernel.size())
      throw error{errc::invalid_graph, "kernel, strides and padding of different ranks"};
  }

  /// The shape that pooling came from, as far as it can be told.
  [[nodiscard]] partial_shape before_pooling(partial_shape s) const {
    if (s.rank() != kernel.size() + 2)
      throw error{errc::invalid_graph, "shape " + to_string(s) + " does not fit a kernel of " +
                                           std::to_string(kernel.size()) + " axes"};
    for (std::size_t i = 0; i < kernel.size(); ++i)
      if (auto& d = s[i + 2]; d.known())
        d = (d.extent() - 1) * strides[i] + kernel[i] - pads[i] - pads[kernel.size() + i];
    return s;
  }
};

std::vector<value_type> infer_max_unpool(const op_view& op) {
  if (op.has_input(2)) {
    const auto target = op.constant_integers(2);
    return {{op.element(0), target ? partial_shape{shape{*target}} : partial_shape{}}};
  }
  if (!op.shape(0).has_rank())
    return {{op.element(0), {}}};
  return {{op.element(0), unpooling{op.attributes()}.before_pooling(op.shape(0))}};
}

kernel_entry max_unpool_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([how = unpooling{r.op.attributes()}](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto pooled = how.before_pooling(in.shape()).to_shape();
      const auto target = ctx.has_input(2) ? shape{integers_of(ctx.input(2))} : *pooled;
      const auto indices = integers_of(ctx.input(1));
      auto fits = ctx.input(1).shape() == in.shape() && target.rank() == pooled->rank();
      for (std::size_t i = 0; fits && i < target.rank(); ++i)
        fits = (*pooled)[i] <= target[i];
      if (!fits)
        throw error{errc::kernel_failed, describe(ctx.input_value(0)) + " and indices " +
                                             describe(ctx.input_value(1)) + " cannot be unpooled to " +
                                             to_string(target)};
      auto& out = ctx.output(0, in.type(), target);
      const auto strides = strides_of(target);
      visit_element_size(in.type(), [&]<class T>(std::type_identity<T>) {
        const auto* source = static_cast<const T*>(in.raw());
        auto* to = static_cast<T*>(out.raw());
        std::fill_n(to, out.elements(), T{});
        for (std::size_t i = 0; i < indices.size(); ++i) {
          auto rest = index_of(indices[i], pooled->elements());
          std::int64_t at = 0;
          for (auto a = target.rank(); a-- > 0; rest /= (*pooled)[a])
            at += rest % (*pooled)[a] * strides[a];
          to[at] = source[i];
        }
      });
    });
  }};
}

} // namespace

void register_scatter(operator_library& lib) {
  for (const auto& [name, since] : {std::pair{"Scatter", 9}, {"ScatterElements", 11}})
    lib.add({.name = name,
             .since_opset = since,
             .min_inputs = 3,
             .max_inputs = 3,
             .infer = same_as_first,
             .cost = elementwise_cost()},
            scatter_elements_kernel());
  lib.add({.name = "ScatterND",
           .since_opset = 11,
           .min_inputs = 3,
           .max_inputs = 3,
           .infer = same_as_first,
           .cost = elementwise_cost()},
          scatter_nd_kernel());
  lib.add({.name = "MaxUnpool",
           .since_opset = 9,
           .min_inputs = 2,
           .max_inputs = 3,
           .infer = infer_max_unpool,
           .cost = elementwise_cost()},
          max_unpool_kernel());
}

} // namespace sluice::ops
