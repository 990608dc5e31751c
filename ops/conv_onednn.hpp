#pragma once

#include <sluice/devices/kernel.hpp>
#include <sluice/ops/conv_gemm.hpp>

#include <memory>

namespace sluice::ops {

/// How a convolution is to be computed by oneDNN. What is plain outside is reordered to the layout that it
/// computes in, and back, inside the kernel.
struct onednn_convolution_options {
  /// Where the channels of images stand while it computes.
  enum class order {
    blocked,      ///< in blocks (onednn_block())
    plain_source, ///< plain in the input, in blocks in the output: for few channels
    last,         ///< innermost: for groups of few channels
  };
  order channels = order::blocked;
  bool winograd = false;    ///< 3 x 3 kernels only: a third to a half of the multiplications, 1e-6 less exact
  bool blocked_in = false;  ///< the input comes in onednn_block()
  bool blocked_out = false; ///< the output is wanted in onednn_block()
  unsigned width = 1;
};

/// The blocked layout that suits this machine.
[[nodiscard]] SLUICE_API layout onednn_block() noexcept;

/// A kernel (input, weights, and a bias if `has_bias`) for float32 in one to three spatial axes, or null if
/// oneDNN has no fast one. `weights` is empty if it is not known yet.
[[nodiscard]] SLUICE_API std::unique_ptr<prepared_kernel>
make_onednn_convolution(const convolution& c, const value& weights, bool has_bias,
                        const onednn_convolution_options& options);

} // namespace sluice::ops
