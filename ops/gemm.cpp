#include <sluice/ops/gemm.hpp>

#include <algorithm>

namespace sluice::ops {

namespace {

// A block of k and a strip of panels stay in the second-level cache (256 KiB) while all rows pass by.
constexpr std::size_t k_block = 1024;
constexpr std::size_t strip_panels = 4;
constexpr std::size_t row_block = 48;
// Multiplications that make a chunk worth handing to another thread: about 10 microseconds.
constexpr std::size_t chunk_work = 1u << 18;

template <class T>
auto best_gemm() noexcept {
  const auto& kernels = dense_loops();
  if constexpr (std::is_same_v<T, float>)
    return kernels.gemm_f32;
  else if constexpr (std::is_same_v<T, double>)
    return kernels.gemm_f64;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return kernels.gemm_u32;
  else
    return kernels.gemm_u64;
}

template <class T>
void block(const matrix_product<T>& p, std::size_t first_row, std::size_t rows, std::size_t first_panel,
           std::size_t panels) {
  const auto gemm = best_gemm<T>();
  const auto first_column = first_panel * panel_width<T>;
  const auto* a = p.a.data + static_cast<std::ptrdiff_t>(first_row) * p.a.row;
  const auto* b = p.b.data + static_cast<std::ptrdiff_t>(first_panel) * p.b.panel;
  auto* c = p.c + static_cast<std::ptrdiff_t>(first_row) * p.c_row + first_column;
  const auto columns = std::min(panels * panel_width<T>, p.n - first_column);
  for (std::size_t k = 0; k == 0 || k < p.k; k += k_block) // k = 0 still clears c
    gemm({.m = rows,
          .n = columns,
          .k = std::min(k_block, p.k - k),
          .a = a + static_cast<std::ptrdiff_t>(k) * p.a.col,
          .a_row = p.a.row,
          .a_col = p.a.col,
          .b = b + static_cast<std::ptrdiff_t>(k) * p.b.row,
          .b_panel = p.b.panel,
          .b_row = p.b.row,
          .c = c,
          .c_row = p.c_row,
          .accumulate = p.accumulate || k > 0});
}

} // namespace

template <class T>
void pack(T* to, matrix_view<T> b, std::size_t k, std::size_t n) {
  constexpr auto width = panel_width<T>;
  for (std::size_t first = 0; first < n; first += width) {
    const auto columns = std::min(width, n - first);
    for (std::size_t i = 0; i < k; ++i) {
      const auto* from =
          b.data + static_cast<std::ptrdiff_t>(i) * b.row + static_cast<std::ptrdiff_t>(first) * b.col;
      for (std::size_t j = 0; j < columns; ++j)
        to[j] = from[static_cast<std::ptrdiff_t>(j) * b.col];
      std::fill(to + columns, to + width, T{});
      to += width;
    }
  }
}

template <class T>
void multiply_here(const matrix_product<T>& p) {
  if (p.m == 0 || p.n == 0)
    return;
  const auto panels = (p.n + panel_width<T> - 1) / panel_width<T>;
  if (p.k <= k_block && p.k * panels <= k_block * strip_panels)
    return block(p, 0, p.m, 0, panels);
  for (std::size_t panel = 0; panel < panels; panel += strip_panels)
    block(p, 0, p.m, panel, std::min(strip_panels, panels - panel));
}

template <class T>
void multiply(const kernel_context& ctx, std::span<const matrix_product<T>> products) {
  if (products.empty() || products[0].m == 0 || products[0].n == 0)
    return;
  const auto& any = products[0];
  const auto panels = (any.n + panel_width<T> - 1) / panel_width<T>;
  if (any.m * any.n * any.k * products.size() <= chunk_work) {
    for (const auto& p : products)
      multiply_here(p);
    return;
  }
  const auto row_blocks = (any.m + row_block - 1) / row_block;
  const auto strips = (panels + strip_panels - 1) / strip_panels;
  const auto blocks = row_blocks * strips;
  const auto block_work = std::min(row_block, any.m) * strip_panels * panel_width<T> * any.k;
  const auto grain = std::max<std::size_t>(1, chunk_work / std::max<std::size_t>(1, block_work));
  ctx.parallel_for(products.size() * blocks, grain, [&](std::size_t begin, std::size_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto strip = i % blocks / row_blocks; // rows change fastest: they share a strip
      const auto row = i % row_blocks * row_block;
      const auto panel = strip * strip_panels;
      block(products[i / blocks], row, std::min(row_block, any.m - row), panel,
            std::min(strip_panels, panels - panel));
    }
  });
}

template void pack(float*, matrix_view<float>, std::size_t, std::size_t);
template void pack(double*, matrix_view<double>, std::size_t, std::size_t);
template void pack(std::uint32_t*, matrix_view<std::uint32_t>, std::size_t, std::size_t);
template void pack(std::uint64_t*, matrix_view<std::uint64_t>, std::size_t, std::size_t);
template void multiply_here(const matrix_product<float>&);
template void multiply_here(const matrix_product<double>&);
template void multiply_here(const matrix_product<std::uint32_t>&);
template void multiply_here(const matrix_product<std::uint64_t>&);
template void multiply(const kernel_context&, std::span<const matrix_product<float>>);
template void multiply(const kernel_context&, std::span<const matrix_product<double>>);
template void multiply(const kernel_context&, std::span<const matrix_product<std::uint32_t>>);
template void multiply(const kernel_context&, std::span<const matrix_product<std::uint64_t>>);

} // namespace sluice::ops
