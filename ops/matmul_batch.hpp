#pragma once

#include <sluice/graph/op_schema.hpp>
#include <sluice/ops/gemm.hpp>
#include <sluice/ops/operand.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <array>

/// Products of batches of matrices, as numpy's matmul defines them.
namespace sluice::ops {

/// The shape of the product. Throws errc::invalid_graph for shapes that do not fit together.
[[nodiscard]] partial_shape matmul_shape(const partial_shape& a, const partial_shape& b);

/// The extents of a numpy matrix product.
struct matmul_extents {
  std::size_t m = 1;
  std::size_t n = 1;
  std::size_t k = 1;
  shape result;
  shape batch;
  boost::container::small_vector<std::array<std::size_t, 2>, 4> batches; ///< index of a's and b's matrix

  /// Throws errc::invalid_graph for shapes that do not fit together.
  matmul_extents(const shape& a, const shape& b);
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

/// c[i] = a[i] * b[i] for the matrices of a batch, all row-major, b not packed yet.
template <class C>
void multiply_plain(const kernel_context& ctx, const matmul_extents& e, const C* a, const C* b, C* c);

/// The same where b is packed, matrix by matrix.
template <class C>
void multiply_packed(const kernel_context& ctx, const matmul_extents& e, const C* a, const C* panels, C* c);

} // namespace sluice::ops
