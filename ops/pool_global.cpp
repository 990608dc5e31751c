#include <sluice/ops/inference.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/pool_plane.hpp>

namespace sluice::ops {

namespace {

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
    fold.finish(&sum, 1, 0);
    return sum;
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
    ctx.parallel_for(static_cast<std::size_t>(s[0] * s[1]), std::max<std::size_t>(1, pool_chunk / n),
                     [&](std::size_t begin, std::size_t end) {
                       for (auto i = begin; i < end; ++i)
                         y.data()[i] = plane(x.data() + i * n, n);
                     });
    y.finish();
  });
}

template <template <class> class Plane>
std::unique_ptr<prepared_kernel> prepare_global(const kernel_request& r) {
  return visit_among(float_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
    return global_kernel<T>(Plane<compute_type<T>>{});
  });
}

template <bool FloatP>
std::unique_ptr<prepared_kernel> prepare_global_lp(const kernel_request& r) {
  const auto p = norm_exponent(r.op, FloatP);
  return visit_among(float_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
    using C = compute_type<T>;
    return global_kernel<T>(plane_norm<C>{{static_cast<C>(p)}});
  });
}

} // namespace

void register_pool_global(operator_library& lib) {
  lib.add({.name = "GlobalAveragePool", .infer = infer_global, .cost = global_cost},
          {prepare_global<plane_sum>});
  lib.add({.name = "GlobalMaxPool", .infer = infer_global, .cost = global_cost}, {prepare_global<plane_max>});
  lib.add({.name = "GlobalLpPool", .infer = infer_global, .cost = global_cost}, {prepare_global_lp<true>});
  lib.add({.name = "GlobalLpPool", .since_opset = 2, .infer = infer_global, .cost = global_cost},
          {prepare_global_lp<false>});
}

} // namespace sluice::ops
