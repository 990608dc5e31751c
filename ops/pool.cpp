#include <sluice/ops/inference.hpp>
#include <sluice/ops/operand.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/pool_plane.hpp>

namespace sluice::ops {

namespace {

shape output_shape(const shape& x, const window& w) {
  std::vector<std::int64_t> dims{x[0], x[1]};
  for (const auto& a : w.axes)
    dims.push_back(a.out);
  return shape{dims};
}

/// Channels of a block in the layout that the input is taken in; 1 for plain.
template <class T>
std::size_t lanes_offered(const kernel_request& r, const window& w) {
  if (!std::is_same_v<T, float> || r.offered.empty() || r.op.output_count() > 1)
    return 1;
  for (const auto& a : w.axes) // a window that sees nothing would fill the padding of a block
    if (a.pad_begin >= a.reach() || a.pad_end >= a.reach())
      return 1;
  return r.offered[0] == layout::nchw16c ? 16 : r.offered[0] == layout::nchw8c ? 8 : 1;
}

/// The window slides over every plane.
template <class T, class Fold>
std::unique_ptr<prepared_kernel> pool_kernel(const window& w, Fold fold, bool count_padding,
                                             const kernel_request& r) {
  using C = compute_type<T>;
  const auto lanes = lanes_offered<T>(r, w);
  kernel_traits traits;
  if (lanes > 1) {
    const auto block = lanes == 16 ? layout::nchw16c : layout::nchw8c;
    traits.wants = {block};
    traits.gives = {block};
  }
  return make_kernel(
      [w, lanes, pool = plane_pooling<C, Fold>{w, fold, count_padding, lanes}](kernel_context& ctx) {
        const auto& x = ctx.input(0);
        const auto y_shape = output_shape(x.shape(), w);
        const auto channels = static_cast<std::size_t>(x.shape()[1]);
        const auto planes = static_cast<std::size_t>(x.shape()[0]) * ((channels + lanes - 1) / lanes);
        const auto x_plane = static_cast<std::size_t>(w.in_elements()) * lanes;
        const auto y_plane = static_cast<std::size_t>(w.out_elements()) * lanes;
        const auto work = std::max<std::size_t>(1, y_plane * static_cast<std::size_t>(w.kernel_elements()));
        const auto all = [&](const C* from, C* to) {
          ctx.parallel_for(planes, std::max<std::size_t>(1, pool_chunk / work),
                           [&](std::size_t begin, std::size_t end) {
                             const scratch_array<C> row{ctx, pool.row_elements()};
                             for (auto i = begin; i < end; ++i)
                               pool(from + i * x_plane, to + i * y_plane, row.data());
                           });
        };
        if constexpr (std::is_same_v<T, float>) {
          if (lanes > 1) {
            const auto block = lanes == 16 ? layout::nchw16c : layout::nchw8c;
            auto& y = ctx.output_laid_out(0, element_type::float32, y_shape, block,
                                          planes * y_plane * sizeof(float));
            all(static_cast<const float*>(x.raw()), static_cast<float*>(y.raw()));
            return;
          }
        }
        computed_output<T> y{ctx, 0, y_shape};
        all(computable<T>{&ctx, x}.data(), y.data());
        y.finish();
      },
      std::move(traits));
}

// MaxPool that says where each maximum was, or takes small integers: element by element.

template <class T>
class max_with_indices final : public prepared_kernel {
  using C = compute_type<T>;

public:
  max_with_indices(window w, bool column_major, bool indices)
    : w_(std::move(w)), column_major_(column_major), indices_(indices) {}

  completion execute(kernel_context& ctx) const override {
    const auto& x = ctx.input(0);
    const auto y_shape = output_shape(x.shape(), w_);
    computed_output<T> y{ctx, 0, y_shape};
    auto* indices =
        indices_ ? ctx.output(1, element_type::int64, y_shape).template data<std::int64_t>().data() : nullptr;
    const computable<T> from{&ctx, x};
    const auto planes = static_cast<std::size_t>(x.shape()[0] * x.shape()[1]);
    const auto in = w_.in_elements();
    const auto out = static_cast<std::size_t>(w_.out_elements());
    const auto work = std::max<std::size_t>(1, out * static_cast<std::size_t>(w_.kernel_elements()));
    ctx.parallel_for(
        planes, std::max<std::size_t>(1, pool_chunk / work), [&](std::size_t begin, std::size_t end) {
          for (auto plane = begin; plane < end; ++plane) {
            const auto* elements = from.data() + static_cast<std::ptrdiff_t>(plane) * in;
            for (std::size_t i = 0; i < out; ++i) {
              best found{fold_max<C>::first, -1};
              search(elements, 0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(out), 0, found);
              y.data()[plane * out + i] = found.element;
              if (indices)
                indices[plane * out + i] = static_cast<std::int64_t>(plane) * in + index_of(found.at);
            }
          }
        });
    y.finish();
    return completion::done;
  }

private:
  struct best {
    C element;
    std::int64_t at; ///< row-major, in the plane
  };

  void search(const C* x, std::size_t axis, std::int64_t i, std::int64_t count, std::int64_t at,
              best& found) const {
    if (axis == w_.axes.size()) {
      if (x[at] > found.element || found.at < 0)
        found = {x[at], at};
      return;
    }
    const auto& a = w_.axes[axis];
    count /= a.out;
    const auto t = taps_at(a, i / count);
    for (std::int64_t k = 0; k < t.count; ++k)
      search(x, axis + 1, i % count, count, at * a.in + t.from + k * a.dilation, found);
  }

  /// The index that storage_order asks for; column-major swaps the order of the spatial axes.
  std::int64_t index_of(std::int64_t at) const {
    if (!column_major_ || at < 0)
      return std::max<std::int64_t>(at, 0);
    std::int64_t index = 0;
    auto stride = w_.in_elements();
    for (auto axis = w_.axes.size(); axis-- > 0;) {
      stride /= w_.axes[axis].in;
      index += at % w_.axes[axis].in * stride;
      at /= w_.axes[axis].in;
    }
    return index;
  }

  const window w_;
  const bool column_major_;
  const bool indices_;
};

window pool_window(const op_view& op) {
  const auto& x = op.shape(0);
  const auto spatial = spatial_dims(x);
  if (!op.attributes().has("kernel_shape"))
    throw error{errc::invalid_graph, "attribute kernel_shape is missing"};
  const auto kernel = axis_attribute(op, "kernel_shape", spatial.size(), 1, 1);
  return make_window(op, spatial, kernel,
                     {.ceil_mode = op.attributes().get<std::int64_t>("ceil_mode", 0) != 0});
}

std::vector<value_type> infer_pool(const op_view& op) {
  const auto& x = op.shape(0);
  partial_shape y;
  if (x.has_rank()) {
    const auto w = pool_window(op);
    auto dims = x.dims();
    for (std::size_t i = 0; i < w.rank(); ++i)
      dims[i + 2] = dim{w.axes[i].out};
    y = partial_shape{std::move(dims)};
  }
  std::vector<value_type> types{{op.element(0), y}};
  if (op.output_count() > 1)
    types.emplace_back(element_type::int64, y);
  return types;
}

op_cost pool_cost(const op_view& op, std::span<const value_type> outputs) {
  double window_elements = 1;
  if (const auto* kernel = op.attributes().find<std::vector<std::int64_t>>("kernel_shape"))
    for (const auto k : *kernel)
      window_elements *= static_cast<double>(k);
  return elementwise_cost(window_elements)(op, outputs);
}

std::unique_ptr<prepared_kernel> prepare_max_pool(const kernel_request& r) {
  auto w = pool_window(r.op);
  const auto indices = r.op.output_count() > 1;
  const auto column_major = r.op.attributes().get<std::int64_t>("storage_order", 0) != 0;
  if (r.op.element(0) == element_type::int8)
    return std::make_unique<max_with_indices<std::int8_t>>(std::move(w), column_major, indices);
  if (r.op.element(0) == element_type::uint8)
    return std::make_unique<max_with_indices<std::uint8_t>>(std::move(w), column_major, indices);
  return visit_among(float_types{}, r.op.element(0),
                     [&]<class T>(std::type_identity<T>) -> std::unique_ptr<prepared_kernel> {
                       if (indices)
                         return std::make_unique<max_with_indices<T>>(std::move(w), column_major, indices);
                       return pool_kernel<T>(w, fold_max<compute_type<T>>{}, false, r);
                     });
}

std::unique_ptr<prepared_kernel> prepare_average_pool(const kernel_request& r) {
  const auto count_padding = r.op.attributes().get<std::int64_t>("count_include_pad", 0) != 0;
  return visit_among(float_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
    return pool_kernel<T>(pool_window(r.op), fold_average<compute_type<T>>{}, count_padding, r);
  });
}

template <bool FloatP>
std::unique_ptr<prepared_kernel> prepare_lp_pool(const kernel_request& r) {
  const auto p = norm_exponent(r.op, FloatP);
  return visit_among(float_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
    using C = compute_type<T>;
    return pool_kernel<T>(pool_window(r.op), fold_norm<C>{static_cast<C>(p)}, false, r);
  });
}

} // namespace

void register_pool(operator_library& lib) {
  lib.add({.name = "MaxPool", .max_outputs = 2, .infer = infer_pool, .cost = pool_cost},
          {prepare_max_pool, false});
  lib.add({.name = "AveragePool", .infer = infer_pool, .cost = pool_cost}, {prepare_average_pool, false});
  lib.add({.name = "LpPool", .infer = infer_pool, .cost = pool_cost}, {prepare_lp_pool<true>, false});
  lib.add({.name = "LpPool", .since_opset = 2, .infer = infer_pool, .cost = pool_cost},
          {prepare_lp_pool<false>, false});
}

} // namespace sluice::ops
