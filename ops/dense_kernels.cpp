#include <sluice/ops/dense_kernels.hpp>

namespace sluice::ops {

const dense_kernels& best_dense_kernels() noexcept {
  static const auto& best = []() -> const dense_kernels& {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd"))
      return dense_kernels_v4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
      return dense_kernels_v3;
    return dense_kernels_v2;
  }();
  return best;
}

} // namespace sluice::ops
