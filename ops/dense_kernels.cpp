#include <sluice/ops/dense_kernels.hpp>

namespace sluice::ops {

const dense_kernels& dense_loops(cpu_level level) noexcept {
  switch (level) {
  case cpu_level::v2:
    break;
  case cpu_level::v3:
    return v3::dense_table;
  case cpu_level::v4:
    return v4::dense_table;
  }
  return v2::dense_table;
}

} // namespace sluice::ops
