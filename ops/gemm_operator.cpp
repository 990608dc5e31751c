#include <sluice/ops/inference.hpp>
#include <sluice/ops/matmul_batch.hpp>
#include <sluice/ops/operators.hpp>

namespace sluice::ops {

namespace {

// Gemm: y = alpha a' b' + beta c.

partial_shape gemm_shape(const op_view& op) {
  const auto& a = op.shape(0);
  const auto& b = op.shape(1);
  const auto trans_a = op.attributes().get<std::int64_t>("transA", 0) != 0;
  const auto trans_b = op.attributes().get<std::int64_t>("transB", 0) != 0;
  partial_shape y{dim{}, dim{}};
  for (const auto* s : {&a, &b})
    if (s->has_rank() && s->rank() != 2)
      throw error{errc::invalid_graph, "Gemm needs matrices, not " + to_string(*s)};
  if (a.has_rank())
    y[0] = a[trans_a ? 1 : 0];
  if (b.has_rank())
    y[1] = b[trans_b ? 0 : 1];
  if (a.has_rank() && b.has_rank()) {
    const auto& a_k = a[trans_a ? 0 : 1];
    const auto& b_k = b[trans_b ? 1 : 0];
    if (a_k.known() && b_k.known() && a_k.extent() != b_k.extent())
      throw error{errc::invalid_graph,
                  "Gemm of " + to_string(a) + " and " + to_string(b) + ": inner extents differ"};
  }
  if (op.has_input(2) && op.shape(2).known() && y.known()) {
    const auto both = broadcast(op.shape(2), y);
    if (!(both == y))
      throw error{errc::invalid_graph,
                  "Gemm's C " + to_string(op.shape(2)) + " does not broadcast to " + to_string(y)};
  }
  return y;
}

op_cost gemm_cost(const op_view& op, std::span<const value_type> outputs) {
  auto cost = elementwise_cost()(op, outputs);
  const auto trans_a = op.attributes().get<std::int64_t>("transA", 0) != 0;
  cost.flops = 2 * elements(outputs[0]) * static_cast<double>(op.shape(0)[trans_a ? 0 : 1].extent());
  return cost;
}

/// Reads c at (row, column) of the result that it broadcasts to.
struct gemm_addend {
  std::size_t row = 0;
  std::size_t col = 0;

  gemm_addend(const shape& c, std::size_t m, std::size_t n) {
    const auto last = c.rank() > 0 ? static_cast<std::size_t>(c[c.rank() - 1]) : 1;
    const auto rows = c.rank() > 1 ? static_cast<std::size_t>(c[c.rank() - 2]) : 1;
    if ((last != 1 && last != n) || (rows != 1 && rows != m) || c.rank() > 2)
      throw error{errc::kernel_failed, "Gemm's C " + to_string(c) + " does not broadcast to " +
                                           std::to_string(m) + " x " + std::to_string(n)};
    col = last == 1 ? 0 : 1;
    row = rows == 1 ? 0 : last;
  }
};

template <class T>
class gemm_kernel final : public prepared_kernel {
  using C = compute_type<T>;

public:
  explicit gemm_kernel(const op_view& op)
    : trans_a_(op.attributes().get<std::int64_t>("transA", 0) != 0),
      trans_b_(op.attributes().get<std::int64_t>("transB", 0) != 0),
      alpha_(op.attributes().get<float>("alpha", 1.0f)), beta_(op.attributes().get<float>("beta", 1.0f)) {
    const auto& b = op.constant(1);
    if (b.empty() || b.tensor().shape().rank() != 2 || b.tensor().elements() == 0)
      return;
    const auto& s = b.tensor().shape();
    b_ = {computable<T>{nullptr, b.tensor()}.data(), 1, static_cast<std::size_t>(s[trans_b_ ? 1 : 0]),
          static_cast<std::size_t>(s[trans_b_ ? 0 : 1]), trans_b_};
  }

  completion execute(kernel_context& ctx) const override {
    const auto& a_shape = ctx.input(0).shape();
    const auto& b_shape = ctx.input(1).shape();
    if (a_shape.rank() != 2 || b_shape.rank() != 2 || a_shape[trans_a_ ? 0 : 1] != b_shape[trans_b_ ? 1 : 0])
      throw error{errc::kernel_failed, "Gemm of " + to_string(a_shape) + " and " + to_string(b_shape)};
    const auto m = static_cast<std::size_t>(a_shape[trans_a_ ? 1 : 0]);
    const auto k = static_cast<std::size_t>(a_shape[trans_a_ ? 0 : 1]);
    const auto n = static_cast<std::size_t>(b_shape[trans_b_ ? 0 : 1]);
    computed_output<T> y{ctx, 0, {static_cast<std::int64_t>(m), static_cast<std::int64_t>(n)}};
    if (m * n > 0) {
      const auto addend_first = ctx.has_input(2) && beta_ != 0 && alpha_ == 1;
      if (addend_first)
        add<true>(ctx, y.data(), m, n);
      const computable<T> a{&ctx, ctx.input(0)};
      const matrix_view<C> plain{a.data(), static_cast<std::ptrdiff_t>(k), 1};
      const matrix_view<C> turned{a.data(), 1, static_cast<std::ptrdiff_t>(m)};
      scratch_array<C> packed{ctx, b_.empty() ? packed_size<C>(k, n) : 0};
      if (b_.empty()) {
        const computable<T> b{&ctx, ctx.input(1)};
        const matrix_view<C> b_plain{b.data(), static_cast<std::ptrdiff_t>(n), 1};
        const matrix_view<C> b_turned{b.data(), 1, static_cast<std::ptrdiff_t>(k)};
        pack(packed.data(), trans_b_ ? b_turned : b_plain, k, n);
      }
      const matrix_product<C> p{.m = m,
                                .n = n,
                                .k = k,
                                .a = trans_a_ ? turned : plain,
                                .b = right_side<C>::packed(b_.empty() ? packed.data() : b_.panels(), k),
                                .c = y.data(),
                                .c_row = static_cast<std::ptrdiff_t>(n),
                                .accumulate = addend_first};
      multiply<C>(ctx, {&p, 1});
      if (alpha_ != 1)
        for (auto& element : std::span{y.data(), m * n})
          element = scaled(alpha_, element);
      if (ctx.has_input(2) && beta_ != 0 && !addend_first)
        add<false>(ctx, y.data(), m, n);
    }
    y.finish();
    return completion::done;
  }

  std::size_t packed_bytes() const noexcept override { return b_.bytes(); }

private:
  static C scaled(float factor, C x) {
    if constexpr (std::is_floating_point_v<C>)
      return static_cast<C>(factor) * x;
    else if constexpr (std::is_signed_v<T>)
      return static_cast<C>(
          static_cast<T>(static_cast<double>(factor) * static_cast<double>(static_cast<T>(x))));
    else
      return static_cast<C>(static_cast<double>(factor) * static_cast<double>(x));
  }

  template <bool Set>
  void add(kernel_context& ctx, C* y, std::size_t m, std::size_t n) const {
    const gemm_addend at{ctx.input(2).shape(), m, n};
    const computable<T> c{&ctx, ctx.input(2)};
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const auto x = c.data()[i * at.row + j * at.col];
        const auto addend = beta_ == 1 ? x : scaled(beta_, x);
        y[i * n + j] = Set ? addend : y[i * n + j] + addend;
      }
  }

  const bool trans_a_;
  const bool trans_b_;
  const float alpha_;
  const float beta_;
  packed_constant<C> b_;
};

std::unique_ptr<prepared_kernel> prepare_gemm(const kernel_request& r) {
  return visit_among(product_types{}, r.op.element(0),
                     [&]<class T>(std::type_identity<T>) -> std::unique_ptr<prepared_kernel> {
                       return std::make_unique<gemm_kernel<T>>(r.op);
                     });
}

} // namespace

void register_gemm(operator_library& lib) {
  lib.add({.name = "Gemm",
           .min_inputs = 2,
           .max_inputs = 3,
           .infer =
               [](const op_view& op) {
                 return std::vector{value_type{op.element(0), gemm_shape(op)}};
               },
           .cost = gemm_cost},
          {prepare_gemm});
}

} // namespace sluice::ops
