#pragma once

#include <sluice/devices/kernel.hpp>
#include <sluice/ops/conv_gemm.hpp>

#include <memory>

namespace sluice::ops {

/// How a convolution is to be computed by oneDNN. Inputs and outputs that are plain are reordered to blocks
/// of 16 channels and back inside the kernel.
struct onednn_convolution_options {
  bool winograd = false; ///< 3 x 3 kernels only: a third to a half of the multiplications, 1e-6 less exact
  bool blocked_in = false;
  bool blocked_out = false;
  unsigned width = 1;
};

/// A kernel (input, weights, and a bias if `has_bias`) for float32 in one to three spatial axes, or null if
/// oneDNN has no fast one. `weights` is empty if it is not known yet.
[[nodiscard]] SLUICE_API std::unique_ptr<prepared_kernel>
make_onednn_convolution(const convolution& c, const value& weights, bool has_bias,
                        const onednn_convolution_options& options);

} // namespace sluice::ops
