#pragma once

#include <sluice/devices/operator_library.hpp>

#include <memory>
#include <string>

namespace sluice {

/// All operators of this build with their CPU kernels; made once. @threadsafe
[[nodiscard]] SLUICE_API std::shared_ptr<const operator_library> standard_operators();

/// The library that dense kernels are made with, and its version: "oneDNN 2.6.0"; "none" in a build without.
[[nodiscard]] SLUICE_API std::string kernel_library_version();

} // namespace sluice

/// One registration function a family, each in the file of that name.
namespace sluice::ops {
void register_shape(operator_library& lib);
void register_transpose(operator_library& lib);
void register_concat(operator_library& lib);
void register_slice(operator_library& lib);
void register_gather(operator_library& lib);
void register_scatter(operator_library& lib);
void register_pad(operator_library& lib);
void register_select(operator_library& lib);

void register_reduce(operator_library& lib);
void register_arg(operator_library& lib);
void register_softmax(operator_library& lib);
void register_normalization(operator_library& lib);
void register_lrn(operator_library& lib);
void register_sequence(operator_library& lib);
void register_algebra(operator_library& lib);
void register_detection(operator_library& lib);
void register_grid_sample(operator_library& lib);
void register_signal(operator_library& lib);
void register_control_flow(operator_library& lib);
void register_unary(operator_library& lib);
void register_arithmetic(operator_library& lib);
void register_power(operator_library& lib);
void register_comparison(operator_library& lib);
void register_variadic(operator_library& lib);
void register_cast(operator_library& lib);
void register_generate(operator_library& lib);
void register_random(operator_library& lib);
void register_quantize(operator_library& lib);
void register_qlinear(operator_library& lib);
void register_text(operator_library& lib);
void register_conv(operator_library& lib);
void register_conv_quantized(operator_library& lib);
void register_conv_transpose(operator_library& lib);
void register_gemm(operator_library& lib);
void register_matmul(operator_library& lib);
void register_matmul_quantized(operator_library& lib);
void register_pool(operator_library& lib);
void register_pool_global(operator_library& lib);
void register_resize(operator_library& lib);
void register_rnn(operator_library& lib);

} // namespace sluice::ops
