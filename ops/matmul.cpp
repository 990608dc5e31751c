#include <sluice/ops/gemm.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/operand.hpp>
#include <sluice/ops/operators.hpp>

#include <boost/container/small_vector.hpp>

namespace sluice::ops {

namespace {

/// Products of at most this many rows read a plain right side as it stands: packing it would cost more.
constexpr std::size_t few_rows = 16;

partial_shape matmul_shape(const partial_shape& a, const partial_shape& b) {
  if (!a.has_rank() || !b.has_rank())
    return {};
  if (a.rank() == 0 || b.rank() == 0)
    throw error{errc::invalid_graph, "a matrix product of " + to_string(a) + " and " + to_string(b)};
  const auto batch = [](const partial_shape& s) {
    const auto end = s.dims().end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, s.rank()));
    return partial_shape{std::vector<dim>{s.dims().begin(), end}};
  };
  const auto& a_k = a[a.rank() - 1];
  const auto& b_k = b[b.rank() == 1 ? 0 : b.rank() - 2];
  if (a_k.known() && b_k.known() && a_k.extent() != b_k.extent())
    throw error{errc::invalid_graph,
                "a matrix product of " + to_string(a) + " and " + to_string(b) + ": inner extents differ"};
  auto dims = broadcast(batch(a), batch(b)).dims();
  if (a.rank() > 1)
    dims.push_back(a[a.rank() - 2]);
  if (b.rank() > 1)
    dims.push_back(b[b.rank() - 1]);
  return partial_shape{std::move(dims)};
}

op_cost matmul_cost(const op_view& op, std::span<const value_type> outputs) {
  auto cost = elementwise_cost()(op, outputs);
  const auto& a = op.shape(0);
  cost.flops = a.rank() == 0 ? 0 : 2 * elements(outputs[0]) * static_cast<double>(a[a.rank() - 1].extent());
  return cost;
}

/// The extents of a numpy matrix product.
struct matmul_extents {
  std::size_t m = 1;
  std::size_t n = 1;
  std::size_t k = 1;
  shape result;
  shape batch;
  boost::container::small_vector<std::array<std::size_t, 2>, 4> batches; ///< index of a's and b's matrix

  matmul_extents(const shape& a, const shape& b) {
    const auto known = matmul_shape(a, b).to_shape();
    result = *known;
    const auto extent = [](std::int64_t e) { return static_cast<std::size_t>(e); };
    k = extent(a[a.rank() - 1]);
    m = a.rank() > 1 ? extent(a[a.rank() - 2]) : 1;
    n = b.rank() > 1 ? extent(b[b.rank() - 1]) : 1;
    const auto a_batch = a.rank() > 2 ? a.rank() - 2 : 0;
    const auto b_batch = b.rank() > 2 ? b.rank() - 2 : 0;
    if (b_batch == 0 || b.product(0, b_batch) == 1) { // one right side: all rows of `a` are one matrix
      m *= extent(a.product(0, a_batch));
      batches.push_back({0, 0});
      return;
    }
    const auto rank = std::max(a_batch, b_batch);
    const auto count = extent(result.product(0, rank));
    for (std::size_t i = 0; i < count; ++i)
      batches.push_back({index_in(a, a_batch, i, rank), index_in(b, b_batch, i, rank)});
  }

private:
  /// Which matrix of `s` belongs to matrix `i` of the result.
  [[nodiscard]] std::size_t index_in(const shape& s, std::size_t batch_rank, std::size_t i,
                                     std::size_t rank) const {
    std::size_t index = 0;
    std::size_t stride = 1;
    for (std::size_t axis = rank; axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(result[axis]);
      const auto position = i % extent;
      i /= extent;
      if (axis + batch_rank < rank)
        continue;
      const auto own = static_cast<std::size_t>(s[axis + batch_rank - rank]);
      index += own == 1 ? 0 : position * stride;
      stride *= own;
    }
    return index;
  }
};

/// The right side of a product, packed when the kernel is prepared if it is a constant.
template <class C>
class packed_constant {
public:
  packed_constant() = default;
  packed_constant(const C* b, std::size_t count, std::size_t k, std::size_t n, bool transposed)
    : panels_(tensor::make(element_type::uint8,
                           {static_cast<std::int64_t>(count * packed_size<C>(k, n) * sizeof(C))})) {
    for (std::size_t i = 0; i < count; ++i) {
      const matrix_view<C> plain{b + i * k * n, static_cast<std::ptrdiff_t>(n), 1};
      const matrix_view<C> turned{b + i * k * n, 1, static_cast<std::ptrdiff_t>(k)};
      pack(static_cast<C*>(panels_->raw()) + i * packed_size<C>(k, n), transposed ? turned : plain, k, n);
    }
  }

  [[nodiscard]] bool empty() const noexcept { return !panels_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return panels_ ? panels_->bytes() : 0; }
  [[nodiscard]] const C* panels() const noexcept { return static_cast<const C*>(panels_->raw()); }

private:
  intrusive_ptr<tensor> panels_;
};

template <class C>
using product_list = boost::container::small_vector<matrix_product<C>, 4>;

/// c[i] = a[i] * b[i] for the matrices of a batch, all row-major, b not packed yet.
template <class C>
void multiply_plain(const kernel_context& ctx, const matmul_extents& e, const C* a, const C* b, C* c) {
  const auto k = static_cast<std::ptrdiff_t>(e.k);
  const auto n = static_cast<std::ptrdiff_t>(e.n);
  const auto whole = e.m <= few_rows ? e.n / panel_width<C> * panel_width<C> : 0;
  const auto packed_each = packed_size<C>(e.k, e.n - whole);
  const auto right_sides =
      std::size_t{1} +
      std::max_element(e.batches.begin(), e.batches.end(), [](auto x, auto y) { return x[1] < y[1]; })->at(1);
  const scratch_array<C> packed{ctx, right_sides * packed_each};
  if (packed_each > 0)
    ctx.parallel_for(right_sides, std::max<std::size_t>(1, (std::size_t{1} << 15) / packed_each),
                     [&](std::size_t begin, std::size_t end) {
                       for (auto i = begin; i < end; ++i)
                         pack(packed.data() + i * packed_each,
                              matrix_view<C>{b + i * e.k * e.n + whole, n, 1}, e.k, e.n - whole);
                     });
  product_list<C> products;
  const auto add = [&](std::size_t first, std::size_t columns, const auto& right) {
    products.clear();
    for (std::size_t i = 0; i < e.batches.size(); ++i)
      products.push_back({.m = e.m,
                          .n = columns,
                          .k = e.k,
                          .a = {a + e.batches[i][0] * e.m * e.k, k, 1},
                          .b = right(e.batches[i][1]),
                          .c = c + i * e.m * e.n + first,
                          .c_row = n});
    multiply<C>(ctx, {products.data(), products.size()});
  };
  if (whole > 0)
    add(0, whole, [&](std::size_t i) {
      return right_side<C>{b + i * e.k * e.n, static_cast<std::ptrdiff_t>(panel_width<C>), n};
    });
  if (whole < e.n)
    add(whole, e.n - whole,
        [&](std::size_t i) { return right_side<C>::packed(packed.data() + i * packed_each, e.k); });
}

template <class C>
void multiply_packed(const kernel_context& ctx, const matmul_extents& e, const C* a, const C* panels, C* c) {
  product_list<C> products;
  for (std::size_t i = 0; i < e.batches.size(); ++i)
    products.push_back({.m = e.m,
                        .n = e.n,
                        .k = e.k,
                        .a = {a + e.batches[i][0] * e.m * e.k, static_cast<std::ptrdiff_t>(e.k), 1},
                        .b = right_side<C>::packed(panels + e.batches[i][1] * packed_size<C>(e.k, e.n), e.k),
                        .c = c + i * e.m * e.n,
                        .c_row = static_cast<std::ptrdiff_t>(e.n)});
  multiply<C>(ctx, {products.data(), products.size()});
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
  return visit_product_type(r.op.element(0),
                            [&]<class T>(std::type_identity<T>) -> std::unique_ptr<prepared_kernel> {
                              return std::make_unique<matmul_kernel<T>>(r.op.constant(1));
                            });
}

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
  return visit_product_type(r.op.element(0),
                            [&]<class T>(std::type_identity<T>) -> std::unique_ptr<prepared_kernel> {
                              return std::make_unique<gemm_kernel<T>>(r.op);
                            });
}

} // namespace

void register_matmul(operator_library& lib) {
  lib.add({.name = "MatMul", .min_inputs = 2, .max_inputs = 2, .infer = infer_matmul, .cost = matmul_cost},
          {prepare_matmul});
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
