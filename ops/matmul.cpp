#include <sluice/ops/inference.hpp>
#include <sluice/ops/matmul_batch.hpp>
#include <sluice/ops/operators.hpp>

namespace sluice::ops {

namespace {

op_cost matmul_cost(const op_view& op, std::span<const value_type> outputs) {
  auto cost = elementwise_cost()(op, outputs);
  const auto& a = op.shape(0);
  cost.flops = a.rank() == 0 ? 0 : 2 * elements(outputs[0]) * static_cast<double>(a[a.rank() - 1].extent());
  return cost;
}

/// How many matrices a right side holds, and their extents.
struct right_extents {
  explicit right_extents(const shape& s)
    : n(s.rank() > 1 ? static_cast<std::size_t>(s[s.rank() - 1]) : 1),
      k(static_cast<std::size_t>(s[s.rank() > 1 ? s.rank() - 2 : 0])),
      count(s.rank() > 2 ? static_cast<std::size_t>(s.product(0, s.rank() - 2)) : 1) {}
  std::size_t n;
  std::size_t k;
  std::size_t count;
};

template <class T>
class matmul_kernel final : public prepared_kernel {
  using C = compute_type<T>;

public:
  explicit matmul_kernel(const value& b) {
    if (b.empty() || b.tensor().elements() == 0)
      return;
    const auto& t = b.tensor();
    const right_extents e{t.shape()};
    b_ = {computable<T>{nullptr, t}.data(), e.count, e.k, e.n, false};
  }

  completion execute(kernel_context& ctx) const override {
    const matmul_extents e{ctx.input(0).shape(), ctx.input(1).shape()};
    computed_output<T> y{ctx, 0, e.result};
    if (e.result.elements() > 0) {
      const computable<T> a{&ctx, ctx.input(0)};
      if (!b_.empty())
        multiply_packed<C>(ctx, e, a.data(), b_.panels(), y.data());
      else
        multiply_plain<C>(ctx, e, a.data(), computable<T>{&ctx, ctx.input(1)}.data(), y.data());
    }
    y.finish();
    return completion::done;
  }

  std::size_t packed_bytes() const noexcept override { return b_.bytes(); }

private:
  packed_constant<C> b_;
};

std::vector<value_type> infer_matmul(const op_view& op) {
  return {value_type{op.element(0), matmul_shape(op.shape(0), op.shape(1))}};
}

std::unique_ptr<prepared_kernel> prepare_matmul(const kernel_request& r) {
  return visit_among(product_types{}, r.op.element(0),
                     [&]<class T>(std::type_identity<T>) -> std::unique_ptr<prepared_kernel> {
                       return std::make_unique<matmul_kernel<T>>(r.op.constant(1));
                     });
}

} // namespace

void register_matmul(operator_library& lib) {
  lib.add({.name = "MatMul", .min_inputs = 2, .max_inputs = 2, .infer = infer_matmul, .cost = matmul_cost},
          {prepare_matmul});
}

} // namespace sluice::ops
