#pragma once

#include <sluice/devices/cpu_level.hpp>

#include <cstddef>
#include <cstdint>

/// The inner loops of matrix products, recurrent gates and pooling (`levels/dense.cpp`), built for each level
/// of the instruction set and picked at run time.
namespace sluice::ops {

/// Columns of a panel: as many elements as fill 64 bytes.
template <class T>
inline constexpr std::size_t panel_width = 64 / sizeof(T);

/// One product of a tile: c (m x n, rows `c_row` apart) = or += a (m x k) * b (k x n).
template <class T>
struct gemm_tile {
  std::size_t m;
  std::size_t n;
  std::size_t k;
  const T* a;
  std::ptrdiff_t a_row; ///< elements from a row to the next
  std::ptrdiff_t a_col; ///< elements from a column to the next
  const T* b;
  std::ptrdiff_t b_panel; ///< elements from a panel of panel_width columns to the next
  std::ptrdiff_t b_row;   ///< elements from a row of a panel to the next; each row has panel_width elements
  T* c;
  std::ptrdiff_t c_row;
  bool accumulate; ///< add to what is in c
};

/// One level's functions. Each element of a product is summed in the order of k, whatever m, n and the tile.
struct dense_kernels {
  void (*gemm_f32)(const gemm_tile<float>&);
  void (*gemm_f64)(const gemm_tile<double>&);
  void (*gemm_u32)(const gemm_tile<std::uint32_t>&); ///< for int32, too: both wrap around
  void (*gemm_u64)(const gemm_tile<std::uint64_t>&);
  void (*sigmoid)(float* x, std::size_t n); ///< in place
  void (*tanh)(float* x, std::size_t n);    ///< in place
  /// y[i] = max(y[i], x[i * stride]) for n items of `lanes` neighbouring elements each (1 or 16).
  void (*max_into)(float* y, const float* x, std::size_t n, std::size_t stride, std::size_t lanes);
  void (*add_into)(float* y, const float* x, std::size_t n, std::size_t stride, std::size_t lanes);
  float (*sum)(const float* x, std::size_t n);
  float (*max)(const float* x, std::size_t n); ///< of at least one element
};

/// Those of a level, by default the best that this machine has. @threadsafe
[[nodiscard]] SLUICE_API const dense_kernels& dense_loops(cpu_level level = active_cpu_level()) noexcept;

// Each level's table, in a namespace of its name.
namespace v2 {
extern const dense_kernels dense_table;
}
namespace v3 {
extern const dense_kernels dense_table;
}
namespace v4 {
extern const dense_kernels dense_table;
}

} // namespace sluice::ops
