#include <sluice/ops/operators.hpp>

#ifndef SLUICE_MINI_OPS
#  include <oneapi/dnnl/dnnl.h>
#endif

namespace sluice {

std::shared_ptr<const operator_library> standard_operators() {
  static const auto library = [] {
    auto made = std::make_shared<operator_library>();
    ops::register_shape(*made);
    ops::register_transpose(*made);
    ops::register_concat(*made);
    ops::register_slice(*made);
    ops::register_gather(*made);
    ops::register_scatter(*made);
    ops::register_pad(*made);
    ops::register_select(*made);
    ops::register_reduce(*made);
    ops::register_arg(*made);
    ops::register_softmax(*made);
    ops::register_normalization(*made);
    ops::register_lrn(*made);
    ops::register_sequence(*made);
    ops::register_algebra(*made);
    ops::register_detection(*made);
    ops::register_grid_sample(*made);
    ops::register_signal(*made);
    ops::register_control_flow(*made);
    ops::register_unary(*made);
    ops::register_arithmetic(*made);
    ops::register_power(*made);
    ops::register_comparison(*made);
    ops::register_variadic(*made);
    ops::register_cast(*made);
    ops::register_generate(*made);
    ops::register_random(*made);
    ops::register_quantize(*made);
    ops::register_qlinear(*made);
    ops::register_text(*made);
    ops::register_gemm(*made);
    ops::register_matmul(*made);
    ops::register_matmul_quantized(*made);
#ifndef SLUICE_MINI_OPS
    ops::register_conv(*made);
    ops::register_conv_quantized(*made);
    ops::register_conv_transpose(*made);
    ops::register_pool(*made);
    ops::register_pool_global(*made);
    ops::register_resize(*made);
    ops::register_rnn(*made);
#endif
    return std::shared_ptr<const operator_library>{std::move(made)};
  }();
  return library;
}

std::string kernel_library_version() {
#ifndef SLUICE_MINI_OPS
  const auto& v = *dnnl_version();
  return "oneDNN " + std::to_string(v.major) + '.' + std::to_string(v.minor) + '.' + std::to_string(v.patch);
#else
  return "none";
#endif
}

} // namespace sluice
