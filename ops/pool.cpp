#include <sluice/ops/inference.hpp>
#include <sluice/ops/operand.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/window.hpp>

#include <cmath>
#include <limits>

namespace sluice::ops {

namespace {

// Elements read that make a chunk worth handing to another thread.
constexpr std::size_t chunk_elements = 1u << 15;

// Ways of folding a window: where to begin, how to take in a row of elements, how to end. `count` is the
// number of elements that the window has for the purposes of an average.

template <class C>
struct fold_max {
  static constexpr C first = std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity()
                                                                  : std::numeric_limits<C>::lowest();
  void row(C* y, const C* x, std::size_t n, std::size_t stride, std::size_t lanes) const {
    if constexpr (std::is_same_v<C, float>)
      dense_loops().max_into(y, x, n, stride, lanes);
    else
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < lanes; ++j)
          y[i * lanes + j] = std::max(y[i * lanes + j], x[i * stride * lanes + j]);
  }
  static constexpr bool finishes = false;
};

template <class C>
struct fold_average {
  static constexpr C first = 0;
  void row(C* y, const C* x, std::size_t n, std::size_t stride, std::size_t lanes) const {
    if constexpr (std::is_same_v<C, float>)
      dense_loops().add_into(y, x, n, stride, lanes);
    else
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < lanes; ++j)
          y[i * lanes + j] += x[i * stride * lanes + j];
  }
  static constexpr bool finishes = true;
  C finish(C y, std::int64_t count) const { return count == 0 ? C{} : y / static_cast<C>(count); }
};

template <class C>
struct fold_norm {
  static constexpr C first = 0;
  C p;
  void row(C* y, const C* x, std::size_t n, std::size_t stride, std::size_t lanes) const {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < lanes; ++j) {
        const auto a = std::abs(x[i * stride * lanes + j]);
        y[i * lanes + j] += p == 2 ? a * a : p == 1 ? a : std::pow(a, p);
      }
  }
  static constexpr bool finishes = true;
  C finish(C y, std::int64_t) const { return p == 2 ? std::sqrt(y) : p == 1 ? y : std::pow(y, 1 / p); }
};

/// The positions of a kernel that lie inside for one output position of one axis.
struct taps {
  std::int64_t from;  ///< input position of the first
  std::int64_t first; ///< kernel position of the first
  std::int64_t count;
  std::int64_t padded; ///< how many there are if padding counts
};

taps taps_at(const window::axis& a, std::int64_t out) {
  const auto start = out * a.stride - a.pad_begin;
  const auto first = start < 0 ? std::min((-start + a.dilation - 1) / a.dilation, a.kernel) : 0;
  const auto inside =
      start >= a.in ? first : std::clamp((a.in - 1 - start) / a.dilation + 1, first, a.kernel);
  const auto padded = std::clamp((a.in + a.pad_end - 1 - start) / a.dilation + 1, first, a.kernel);
  return {start + first * a.dilation, first, inside - first, padded};
}

/// Folds the windows of one plane of items of `lanes` elements.
template <class C, class Fold>
class plane_pooling {
public:
  plane_pooling(window w, Fold fold, bool count_padding, std::size_t lanes)
    : w_(std::move(w)), fold_(fold), count_padding_(count_padding), lanes_(lanes) {
    const auto& a = w_.axes.back();
    // Only taps that see anything at all: a hostile kernel may be far larger than the image.
    const auto least = (a.pad_begin - (a.out - 1) * a.stride) / a.dilation;
    const auto most = (a.pad_begin + a.in - 1) / a.dilation;
    for (auto k = std::max<std::int64_t>(0, least); k < a.kernel && k <= most; ++k) {
      const auto start = k * a.dilation - a.pad_begin;
      const auto begin = start < 0 ? std::min((-start + a.stride - 1) / a.stride, a.out) : 0;
      const auto end = start >= a.in ? begin : std::clamp((a.in - 1 - start) / a.stride + 1, begin, a.out);
      if (begin < end)
        runs_.push_back({begin, end, start + begin * a.stride});
    }
  }

  void operator()(const C* x, C* y) const {
    const auto row = w_.axes.back().out;
    const auto rows = row == 0 ? 0 : w_.out_elements() / row;
    for (std::int64_t r = 0; r < rows; ++r, y += static_cast<std::size_t>(row) * lanes_) {
      std::fill_n(y, static_cast<std::size_t>(row) * lanes_, Fold::first);
      const auto count = fold_rows(x, y, 0, r, rows);
      if constexpr (Fold::finishes)
        for (std::int64_t i = 0; i < row; ++i)
          for (std::size_t j = 0; j < lanes_; ++j) {
            auto& element = y[static_cast<std::size_t>(i) * lanes_ + j];
            element = fold_.finish(element, count * counted(w_.axes.back(), i));
          }
    }
  }

private:
  struct run {
    std::int64_t begin, end; ///< outputs
    std::int64_t from;       ///< input of the first
  };

  [[nodiscard]] std::int64_t counted(const window::axis& a, std::int64_t out) const {
    const auto start = out * a.stride - a.pad_begin;
    if (start >= 0 && start + a.reach() <= a.in)
      return a.kernel;
    const auto t = taps_at(a, out);
    return count_padding_ ? t.padded : t.count;
  }

  /// Takes in all rows of x, chosen axis by axis, that output row `r` of `rows` sees; returns how many count.
  std::int64_t fold_rows(const C* x, C* y, std::size_t axis, std::int64_t r, std::int64_t rows) const {
    const auto& a = w_.axes[axis];
    if (axis + 1 == w_.axes.size()) {
      const auto lanes = static_cast<std::ptrdiff_t>(lanes_);
      for (const auto& taken : runs_)
        fold_.row(y + taken.begin * lanes, x + taken.from * lanes,
                  static_cast<std::size_t>(taken.end - taken.begin), static_cast<std::size_t>(a.stride),
                  lanes_);
      return 1;
    }
    rows /= a.out;
    const auto out = r / rows;
    const auto t = taps_at(a, out);
    auto elements = static_cast<std::int64_t>(lanes_);
    for (auto i = axis + 1; i < w_.axes.size(); ++i)
      elements *= w_.axes[i].in;
    std::int64_t inner = 0;
    for (std::int64_t i = 0; i < t.count; ++i)
      inner = fold_rows(x + (t.from + i * a.dilation) * elements, y, axis + 1, r % rows, rows);
    return inner * counted(a, out);
  }

  const window w_;
  const Fold fold_;
  const bool count_padding_;
  const std::size_t lanes_;
  std::vector<run> runs_; ///< by kernel position of the last axis
};

shape output_shape(const shape& x, const window& w) {
  std::vector<std::int64_t> dims{x[0], x[1]};
  for (const auto& a : w.axes)
    dims.push_back(a.out);
  return shape{dims};
}

constexpr std::size_t block = 16;

/// The window slides over every plane; `lanes` is block for blocked images, 1 otherwise.
template <class T, class Fold>
std::unique_ptr<prepared_kernel> pool_kernel(const window& w, Fold fold, bool count_padding,
                                             const kernel_request& r) {
  using C = compute_type<T>;
  const auto blocked = std::is_same_v<T, float> && !r.offered.empty() && r.offered[0] == layout::nchw16c &&
                       r.op.output_count() == 1;
  kernel_traits traits;
  if (blocked) {
    traits.wants = {layout::nchw16c};
    traits.gives = {layout::nchw16c};
  }
  return make_kernel(
      [w, blocked,
       pool = plane_pooling<C, Fold>{w, fold, count_padding, blocked ? block : 1}](kernel_context& ctx) {
        const auto& x = ctx.input(0);
        const auto y_shape = output_shape(x.shape(), w);
        const auto lanes = blocked ? block : 1;
        const auto channels = static_cast<std::size_t>(x.shape()[1]);
        const auto planes = static_cast<std::size_t>(x.shape()[0]) * ((channels + lanes - 1) / lanes);
        const auto x_plane = static_cast<std::size_t>(w.in_elements()) * lanes;
        const auto y_plane = static_cast<std::size_t>(w.out_elements()) * lanes;
        const auto work = std::max<std::size_t>(1, y_plane * static_cast<std::size_t>(w.kernel_elements()));
        const auto all = [&](const C* from, C* to) {
          ctx.parallel_for(planes, std::max<std::size_t>(1, chunk_elements / work),
                           [&](std::size_t begin, std::size_t end) {
                             for (auto i = begin; i < end; ++i)
                               pool(from + i * x_plane, to + i * y_plane);
                           });
        };
        if constexpr (std::is_same_v<T, float>) {
          if (blocked) {
            auto& y = ctx.output_laid_out(0, element_type::float32, y_shape, layout::nchw16c,
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

template <class F>
auto visit_pool_type(const op_view& op, F&& f) {
  switch (op.element(0)) {
  case element_type::float32:
    return f(std::type_identity<float>{});
  case element_type::float64:
    return f(std::type_identity<double>{});
  case element_type::float16:
    return f(std::type_identity<float16>{});
  case element_type::bfloat16:
    return f(std::type_identity<bfloat16>{});
  default:
    throw error{errc::unsupported,
                "pooling of " + std::string{to_string(op.element(0))} + " is not supported"};
  }
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
        planes, std::max<std::size_t>(1, chunk_elements / work), [&](std::size_t begin, std::size_t end) {
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
  return visit_pool_type(r.op, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<prepared_kernel> {
    if (indices)
      return std::make_unique<max_with_indices<T>>(std::move(w), column_major, indices);
    return pool_kernel<T>(w, fold_max<compute_type<T>>{}, false, r);
  });
}

std::unique_ptr<prepared_kernel> prepare_average_pool(const kernel_request& r) {
  const auto count_padding = r.op.attributes().get<std::int64_t>("count_include_pad", 0) != 0;
  return visit_pool_type(r.op, [&]<class T>(std::type_identity<T>) {
    return pool_kernel<T>(pool_window(r.op), fold_average<compute_type<T>>{}, count_padding, r);
  });
}

/// The exponent of a norm: a float in the oldest opsets.
double norm_exponent(const op_view& op, bool is_float) {
  const auto p = is_float ? static_cast<double>(op.attributes().get<float>("p", 2.0f))
                          : static_cast<double>(op.attributes().get<std::int64_t>("p", 2));
  if (!(p > 0))
    throw error{errc::invalid_graph, "a norm needs p above 0, not " + std::to_string(p)};
  return p;
}

template <bool FloatP>
std::unique_ptr<prepared_kernel> prepare_lp_pool(const kernel_request& r) {
  const auto p = norm_exponent(r.op, FloatP);
  return visit_pool_type(r.op, [&]<class T>(std::type_identity<T>) {
    using C = compute_type<T>;
    return pool_kernel<T>(pool_window(r.op), fold_norm<C>{static_cast<C>(p)}, false, r);
  });
}

// Global pooling: one window that sees the whole plane.

std::vector<value_type> infer_global(const op_view& op) {
  const auto& x = op.shape(0);
  if (!x.has_rank())
    return {value_type{op.element(0), {}}};
  static_cast<void>(spatial_dims(x));
  std::vector<dim> dims(x.rank(), dim{1});
  dims[0] = x[0];
  dims[1] = x[1];
  return {value_type{op.element(0), partial_shape{std::move(dims)}}};
}

op_cost global_cost(const op_view& op, std::span<const value_type> outputs) {
  auto cost = elementwise_cost()(op, outputs);
  cost.flops = elements(op.input(0));
  return cost;
}

template <class C>
struct plane_sum {
  C operator()(const C* x, std::size_t n) const {
    if constexpr (std::is_same_v<C, float>) {
      return dense_loops().sum(x, n) / static_cast<float>(n);
    } else {
      C sum = 0;
      for (std::size_t i = 0; i < n; ++i)
        sum += x[i];
      return sum / static_cast<C>(n);
    }
  }
};

template <class C>
struct plane_max {
  C operator()(const C* x, std::size_t n) const {
    if constexpr (std::is_same_v<C, float>)
      return dense_loops().max(x, n);
    else
      return *std::max_element(x, x + n);
  }
};

template <class C>
struct plane_norm {
  fold_norm<C> fold;
  C operator()(const C* x, std::size_t n) const {
    C sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      fold.row(&sum, x + i, 1, 1, 1);
    return fold.finish(sum, 0);
  }
};

template <class T, class Plane>
std::unique_ptr<prepared_kernel> global_kernel(Plane plane) {
  return make_kernel([plane](kernel_context& ctx) {
    const auto& s = ctx.input(0).shape();
    if (s.rank() < 3)
      throw error{errc::kernel_failed, "an image " + to_string(s) + " without spatial axes"};
    std::vector<std::int64_t> dims(s.rank(), 1);
    dims[0] = s[0];
    dims[1] = s[1];
    const auto n = static_cast<std::size_t>(s.product(2, s.rank()));
    if (n == 0)
      throw error{errc::kernel_failed, "pooling of an image " + to_string(s) + " without pixels"};
    computed_output<T> y{ctx, 0, shape{dims}};
    const computable<T> x{&ctx, ctx.input(0)};
    ctx.parallel_for(static_cast<std::size_t>(s[0] * s[1]), std::max<std::size_t>(1, chunk_elements / n),
                     [&](std::size_t begin, std::size_t end) {
                       for (auto i = begin; i < end; ++i)
                         y.data()[i] = plane(x.data() + i * n, n);
                     });
    y.finish();
  });
}

template <template <class> class Plane>
std::unique_ptr<prepared_kernel> prepare_global(const kernel_request& r) {
  return visit_pool_type(
      r.op, [&]<class T>(std::type_identity<T>) { return global_kernel<T>(Plane<compute_type<T>>{}); });
}

template <bool FloatP>
std::unique_ptr<prepared_kernel> prepare_global_lp(const kernel_request& r) {
  const auto p = norm_exponent(r.op, FloatP);
  return visit_pool_type(r.op, [&]<class T>(std::type_identity<T>) {
    using C = compute_type<T>;
    return global_kernel<T>(plane_norm<C>{{static_cast<C>(p)}});
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
  lib.add({.name = "GlobalAveragePool", .infer = infer_global, .cost = global_cost},
          {prepare_global<plane_sum>});
  lib.add({.name = "GlobalMaxPool", .infer = infer_global, .cost = global_cost}, {prepare_global<plane_max>});
  lib.add({.name = "GlobalLpPool", .infer = infer_global, .cost = global_cost}, {prepare_global_lp<true>});
  lib.add({.name = "GlobalLpPool", .since_opset = 2, .infer = infer_global, .cost = global_cost},
          {prepare_global_lp<false>});
}

} // namespace sluice::ops
