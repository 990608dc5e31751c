#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/vector_math.hpp>

#include <algorithm>
#include <numeric>

namespace sluice::ops {

namespace {

/// A tensor as slices along one axis: element k of slice (o, i) stands at (o * n + k) * inner + i.
struct along_axis {
  std::int64_t outer;
  std::int64_t n;
  std::int64_t inner;

  along_axis(const shape& s, std::size_t axis)
    : outer(s.product(0, axis)), n(s[axis]), inner(s.product(axis + 1, s.rank())) {}

  /// Calls f(first element of the slice, slice number) for all slices, on the context's threads.
  template <class F>
  void each(const kernel_context& ctx, F f) const {
    ctx.parallel_for(
        static_cast<std::size_t>(outer * inner), grain_for(n), [&](std::size_t begin, std::size_t end) {
          for (auto s = static_cast<std::int64_t>(begin); s < static_cast<std::int64_t>(end); ++s)
            f(s / inner * n * inner + s % inner, s);
        });
  }
};

template <class T>
computed<T> comparable(const T& x) {
  return static_cast<computed<T>>(x);
}

// ArgMax and ArgMin

std::vector<value_type> infer_arg(const op_view& op) {
  auto s = op.shape(0);
  if (!s.has_rank())
    return {{element_type::int64, {}}};
  const auto axis = normalize_axis(op.attributes().get<std::int64_t>("axis", 0), s.rank());
  auto dims = s.dims();
  if (op.attributes().get<std::int64_t>("keepdims", 1) != 0)
    dims[axis] = 1;
  else
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return {{element_type::int64, partial_shape{std::move(dims)}}};
}

template <bool Largest, class T>
bool better(T a, T b) {
  return Largest ? a > b : a < b;
}

/// The place of the extreme among n neighbours; vector loops find what it is, then it is looked for.
template <bool Largest, class T>
std::int64_t place_in_row(const T* x, std::int64_t n, bool last) {
  if constexpr (std::is_floating_point_v<T>)
    if (!last) {
      const auto& loops = vector_math<T>();
      const auto extreme =
          Largest ? loops.max(x, static_cast<std::size_t>(n)) : loops.min(x, static_cast<std::size_t>(n));
      const auto* found = std::find(x, x + n, extreme);
      return found == x + n ? 0 : found - x;
    }
  std::int64_t place = 0;
  for (std::int64_t k = 1; k < n; ++k) {
    const auto a = comparable(x[k]);
    const auto b = comparable(x[place]);
    if (better<Largest>(a, b) || (last && a == b))
      place = k;
  }
  return place;
}

/// The same for `width` slices side by side.
template <bool Largest, class T>
void places_in_columns(const T* x, const along_axis& a, std::int64_t width, bool last, std::int64_t* places) {
  constexpr std::int64_t strip = 256;
  std::array<computed<T>, strip> extremes;
  for (std::int64_t begin = 0; begin < width; begin += strip) {
    const auto count = std::min(strip, width - begin);
    for (std::int64_t i = 0; i < count; ++i) {
      extremes[static_cast<std::size_t>(i)] = comparable(x[begin + i]);
      places[begin + i] = 0;
    }
    for (std::int64_t k = 1; k < a.n; ++k)
      for (std::int64_t i = 0; i < count; ++i) {
        const auto candidate = comparable(x[k * a.inner + begin + i]);
        auto& extreme = extremes[static_cast<std::size_t>(i)];
        if (better<Largest>(candidate, extreme) || (last && candidate == extreme)) {
          extreme = candidate;
          places[begin + i] = k;
        }
      }
  }
}

template <bool Largest>
kernel_entry arg_kernel() {
  return {[](const kernel_request& r) {
    const auto& attributes = r.op.attributes();
    return make_kernel([axis_given = attributes.get<std::int64_t>("axis", 0),
                        keep = attributes.get<std::int64_t>("keepdims", 1) != 0,
                        last =
                            attributes.get<std::int64_t>("select_last_index", 0) != 0](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto& s = in.shape();
      const auto axis = axis_of(axis_given, s.rank());
      if (s[axis] == 0 && s.with(axis, 1).elements() > 0)
        throw error{errc::kernel_failed, "an axis without elements has no extreme"};
      std::vector<std::int64_t> extents{s.begin(), s.end()};
      if (keep)
        extents[axis] = 1;
      else
        extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(axis));
      auto* places = ctx.output(0, element_type::int64, shape{extents}).template data<std::int64_t>().data();
      const along_axis a{s, axis};
      visit_among(numeric_types{}, in.type(), [&]<class T>(std::type_identity<T>) {
        const auto* x = in.template data<T>().data();
        ctx.parallel_for(static_cast<std::size_t>(a.outer), grain_for(a.n * a.inner),
                         [&](std::size_t begin, std::size_t end) {
                           for (auto o = static_cast<std::int64_t>(begin); o < static_cast<std::int64_t>(end);
                                ++o) {
                             const auto* base = x + o * a.n * a.inner;
                             if (a.inner == 1)
                               places[o] = place_in_row<Largest>(base, a.n, last);
                             else
                               places_in_columns<Largest>(base, a, a.inner, last, places + o * a.inner);
                           }
                         });
      });
    });
  }};
}

// TopK

std::vector<value_type> infer_top_k(const op_view& op) {
  auto s = op.shape(0);
  if (s.has_rank()) {
    const auto axis = normalize_axis(op.attributes().get<std::int64_t>("axis", -1), s.rank());
    std::optional<std::int64_t> k;
    if (const auto* given = op.attributes().find<std::int64_t>("k"))
      k = *given;
    else if (const auto input = op.has_input(1) ? op.constant_integers(1) : std::nullopt;
             input && input->size() == 1)
      k = input->front();
    if (k && (*k < 0 || (s[axis].known() && *k > s[axis].extent())))
      throw error{errc::invalid_graph,
                  "there are no " + std::to_string(*k) + " elements in an axis of " + to_string(s)};
    s[axis] = k ? dim{*k} : dim{};
  }
  return {{op.element(0), s}, {element_type::int64, s}};
}

/// An order of all numbers, NaN before everything; the earlier of equals comes first.
template <class T>
bool comes_first(const T* x, std::int64_t stride, std::int64_t a, std::int64_t b, bool largest) {
  const auto p = comparable(x[a * stride]);
  const auto q = comparable(x[b * stride]);
  if (p != p || q != q)
    return q != q ? p != p && a < b : true;
  if (p != q)
    return largest ? p > q : p < q;
  return a < b;
}

template <class T>
void top_k(const kernel_context& ctx, const along_axis& a, std::int64_t k, bool largest, const T* x,
           T* values, std::int64_t* places) {
  a.each(ctx, [&](std::int64_t first, std::int64_t slice) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(a.n));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t p, std::int64_t q) {
      return comes_first(x + first, a.inner, p, q, largest);
    });
    const auto target = slice / a.inner * k * a.inner + slice % a.inner;
    for (std::int64_t i = 0; i < k; ++i) {
      places[target + i * a.inner] = order[static_cast<std::size_t>(i)];
      values[target + i * a.inner] = x[first + order[static_cast<std::size_t>(i)] * a.inner];
    }
  });
}

kernel_entry top_k_kernel() {
  return {[](const kernel_request& r) {
    const auto& attributes = r.op.attributes();
    return make_kernel(
        [axis_given = attributes.get<std::int64_t>("axis", -1),
         largest = attributes.get<std::int64_t>("largest", 1) != 0,
         given = std::vector<std::int64_t>{attributes.get<std::int64_t>("k", 0)}](kernel_context& ctx) {
          const auto& in = ctx.input(0);
          const auto& s = in.shape();
          const auto axis = axis_of(axis_given, s.rank());
          const auto wanted = integers_of(ctx, 1, given);
          if (wanted.size() != 1 || wanted[0] < 0 || wanted[0] > s[axis])
            throw error{errc::kernel_failed,
                        "the number of elements to take does not fit an axis of " + to_string(s)};
          const auto target = s.with(axis, wanted[0]);
          auto& values = ctx.output(0, in.type(), target);
          auto places = ctx.output(1, element_type::int64, target).data<std::int64_t>();
          visit_among(numeric_types{}, in.type(), [&]<class T>(std::type_identity<T>) {
            top_k(ctx, along_axis{s, axis}, wanted[0], largest, in.data<T>().data(), values.data<T>().data(),
                  places.data());
          });
        });
  }};
}

// CumSum

kernel_entry cum_sum_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel(
        [exclusive = r.op.attributes().get<std::int64_t>("exclusive", 0) != 0,
         reverse = r.op.attributes().get<std::int64_t>("reverse", 0) != 0](kernel_context& ctx) {
          const auto& in = ctx.input(0);
          const auto axes = integers_of(ctx.input(1));
          if (axes.size() != 1)
            throw error{errc::kernel_failed, "sums run along one axis, not " + std::to_string(axes.size())};
          const along_axis a{in.shape(), axis_of(axes[0], in.shape().rank())};
          auto& out = ctx.output(0, in.type(), in.shape());
          visit_among(numeric_types{}, in.type(), [&]<class T>(std::type_identity<T>) {
            const auto* x = in.data<T>().data();
            auto* y = out.data<T>().data();
            a.each(ctx, [&](std::int64_t first, std::int64_t) {
              using sum_type = std::conditional_t<std::is_integral_v<T>, std::uint64_t, computed<T>>;
              sum_type sum{0};
              for (std::int64_t k = 0; k < a.n; ++k) {
                const auto at = first + (reverse ? a.n - 1 - k : k) * a.inner;
                const auto before = sum;
                sum += static_cast<sum_type>(comparable(x[at]));
                y[at] = static_cast<T>(exclusive ? before : sum);
              }
            });
          });
        });
  }};
}

// Hardmax

kernel_entry hardmax_kernel(bool flattened) {
  return {[flattened](const kernel_request& r) {
    return make_kernel([flattened, axis_given = r.op.attributes().get<std::int64_t>(
                                       "axis", flattened ? 1 : -1)](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto& s = in.shape();
      const auto axis = normalize_axis(axis_given, s.rank(), flattened);
      const auto a =
          flattened ? along_axis{{s.product(0, axis), s.product(axis, s.rank())}, 1} : along_axis{s, axis};
      auto& out = ctx.output(0, in.type(), s);
      visit_among(float_types{}, in.type(), [&]<class T>(std::type_identity<T>) {
        const auto* x = in.data<T>().data();
        auto* y = out.data<T>().data();
        std::fill_n(y, out.elements(), T{});
        if (a.n > 0)
          a.each(ctx, [&](std::int64_t first, std::int64_t) {
            auto best = first;
            for (std::int64_t k = 1; k < a.n; ++k)
              if (comparable(x[first + k * a.inner]) > comparable(x[best]))
                best = first + k * a.inner;
            y[best] = static_cast<T>(computed<T>{1});
          });
      });
    });
  }};
}

} // namespace

void register_arg(operator_library& lib) {
  lib.add({.name = "ArgMax", .infer = infer_arg, .cost = reduction_cost()}, arg_kernel<true>());
  lib.add({.name = "ArgMin", .infer = infer_arg, .cost = reduction_cost()}, arg_kernel<false>());
  for (const auto version : {1, 10}) // k becomes an input
    lib.add({.name = "TopK",
             .since_opset = version,
             .min_inputs = version == 1 ? 1U : 2U,
             .max_inputs = version == 1 ? 1U : 2U,
             .min_outputs = 2,
             .max_outputs = 2,
             .infer = infer_top_k,
             .cost = reduction_cost(8)},
            top_k_kernel());
  lib.add({.name = "CumSum",
           .since_opset = 11,
           .min_inputs = 2,
           .max_inputs = 2,
           .infer = same_as_first,
           .cost = elementwise_cost()},
          cum_sum_kernel());
  lib.add({.name = "Hardmax", .infer = same_as_first, .cost = reduction_cost()}, hardmax_kernel(true));
  lib.add({.name = "Hardmax", .since_opset = 13, .infer = same_as_first, .cost = reduction_cost()},
          hardmax_kernel(false));
}

} // namespace sluice::ops
