#include <sluice/ops/matmul_batch.hpp>

#include <sluice/ops/inference.hpp>

namespace sluice::ops {

namespace {

/// Products of at most this many rows read a plain right side as it stands: packing it would cost more.
constexpr std::size_t few_rows = 16;

/// Which matrix of `s` belongs to matrix `i` of the result.
std::size_t index_in(const shape& result, const shape& s, std::size_t batch_rank, std::size_t i,
                     std::size_t rank) {
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

template <class C>
using product_list = boost::container::small_vector<matrix_product<C>, 4>;

} // namespace

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

matmul_extents::matmul_extents(const shape& a, const shape& b) {
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
    batches.push_back({index_in(result, a, a_batch, i, rank), index_in(result, b, b_batch, i, rank)});
}

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

template void multiply_plain(const kernel_context&, const matmul_extents&, const float*, const float*,
                             float*);
template void multiply_packed(const kernel_context&, const matmul_extents&, const float*, const float*,
                              float*);
template void multiply_plain(const kernel_context&, const matmul_extents&, const double*, const double*,
                             double*);
template void multiply_packed(const kernel_context&, const matmul_extents&, const double*, const double*,
                              double*);
template void multiply_plain(const kernel_context&, const matmul_extents&, const std::uint32_t*,
                             const std::uint32_t*, std::uint32_t*);
template void multiply_packed(const kernel_context&, const matmul_extents&, const std::uint32_t*,
                              const std::uint32_t*, std::uint32_t*);
template void multiply_plain(const kernel_context&, const matmul_extents&, const std::uint64_t*,
                             const std::uint64_t*, std::uint64_t*);
template void multiply_packed(const kernel_context&, const matmul_extents&, const std::uint64_t*,
                              const std::uint64_t*, std::uint64_t*);

} // namespace sluice::ops
