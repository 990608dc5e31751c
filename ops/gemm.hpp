#pragma once

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/dense_kernels.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

/// Matrix products over the threads of a firing. The same bits at every width and for every number of rows.
namespace sluice::ops {

/// The type in which products of `T` are computed.
template <class T>
using compute_type = std::conditional_t<
    std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float,
    std::conditional_t<std::is_same_v<T, std::int32_t>, std::uint32_t,
                       std::conditional_t<std::is_same_v<T, std::int64_t>, std::uint64_t, T>>>;

/// A matrix in somebody else's memory, with any distance between rows and between columns (in elements).
template <class T>
struct matrix_view {
  const T* data;
  std::ptrdiff_t row;
  std::ptrdiff_t col;

  [[nodiscard]] matrix_view transposed() const noexcept { return {data, col, row}; }
};

/// Elements that pack() writes for a k x n matrix: whole panels, the last one padded with zeros.
template <class T>
[[nodiscard]] constexpr std::size_t packed_size(std::size_t k, std::size_t n) noexcept {
  return (n + panel_width<T> - 1) / panel_width<T> * panel_width<T> * k;
}

/// Lays the k x n matrix `b` out in panels of panel_width columns, the way the kernels read it. `T` is one of
/// float, double, std::uint32_t and std::uint64_t; `to` is aligned to 64 bytes.
template <class T>
void pack(T* to, matrix_view<T> b, std::size_t k, std::size_t n);

/// The right side of a product: packed, or as it stands where that is as fast.
template <class T>
struct right_side {
  const T* data;
  std::ptrdiff_t panel;
  std::ptrdiff_t row;

  [[nodiscard]] static right_side packed(const T* panels, std::size_t k) noexcept {
    return {panels, static_cast<std::ptrdiff_t>(k * panel_width<T>), panel_width<T>};
  }
};

/// c (m x n, rows `c_row` apart) = a (m x k) * b, or += where `accumulate`.
template <class T>
struct matrix_product {
  std::size_t m;
  std::size_t n;
  std::size_t k;
  matrix_view<T> a;
  right_side<T> b;
  T* c;
  std::ptrdiff_t c_row;
  bool accumulate = false;
};

/// One product on the calling thread, without the costs of sharing it out.
template <class T>
void multiply_here(const matrix_product<T>& p);

/// Several products of the same extents over the threads of `ctx`.
template <class T>
void multiply(const kernel_context& ctx, std::span<const matrix_product<T>> products);

} // namespace sluice::ops
