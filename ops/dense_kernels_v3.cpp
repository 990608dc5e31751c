#include <sluice/ops/dense_kernels_body.hpp>

namespace sluice::ops {
const dense_kernels dense_kernels_v3 = kernels_of_this_level;
} // namespace sluice::ops
