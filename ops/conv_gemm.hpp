#pragma once

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/window.hpp>

namespace sluice::ops {

/// The extents of a convolution: x [batch, groups * in, spatial…], w [groups * out, in, kernel…],
/// y [batch, groups * out, spatial…].
struct convolution {
  std::size_t batch = 0;
  std::size_t groups = 1;
  std::size_t in = 0;  ///< input channels of a group
  std::size_t out = 0; ///< output channels of a group
  window over;
};

/// What the types of a convolution's inputs say of it.
struct conv_types {
  partial_shape y;
  window over; ///< no axes where the kernel's extents are not known
};

/// The convolution of input 0 with the weights that are input `w_index`; nullopt if not even the ranks are
/// known. Throws errc::invalid_graph for shapes that contradict each other.
[[nodiscard]] std::optional<conv_types> conv_node(const op_view& op, std::size_t w_index);

/// The same where all shapes are known; throws errc::unsupported otherwise.
[[nodiscard]] convolution conv_extents(const op_view& op, std::size_t w_index);
[[nodiscard]] shape conv_output(const convolution& c);
[[nodiscard]] op_cost conv_cost(const op_view& op, std::span<const value_type> outputs);

/// y = x * w + bias (one an output channel; null for none), everything plain, as products of matrices whose
/// columns are gathered strip by strip. `C` is a type that gemm.hpp multiplies in. The same bits at every
/// width and batch.
template <class C>
void convolve(const kernel_context& ctx, const convolution& c, const C* x, const C* w, const C* bias, C* y);

/// The same for an image of few pixels: `w_panels` is the packed matrix of every group's transposed
/// weights (k x out).
template <class C>
void convolve_few_pixels(const kernel_context& ctx, const convolution& c, const C* x, const C* w_panels,
                         const C* bias, C* y);

/// For images of at most so many pixels the latter is faster.
inline constexpr std::int64_t few_pixels = 12;

} // namespace sluice::ops
