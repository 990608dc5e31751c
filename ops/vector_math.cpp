#include <sluice/ops/vector_math.hpp>

#include <sluice/ops/levels/tables.hpp>

namespace sluice::ops {

namespace {

template <class Table>
const Table& pick(cpu_level level, const Table& for_v2, const Table& for_v3, const Table& for_v4) noexcept {
  switch (level) {
  case cpu_level::v2:
    break;
  case cpu_level::v3:
    return for_v3;
  case cpu_level::v4:
    return for_v4;
  }
  return for_v2;
}

} // namespace

template <>
const vector_loops<float>& vector_math(cpu_level level) noexcept {
  return pick(level, v2::float_loops, v3::float_loops, v4::float_loops);
}

template <>
const vector_loops<double>& vector_math(cpu_level level) noexcept {
  return pick(level, v2::double_loops, v3::double_loops, v4::double_loops);
}

const small_float_loops& float16_loops(cpu_level level) noexcept {
  return pick(level, v2::float16_codec, v3::float16_codec, v4::float16_codec);
}

const small_float_loops& bfloat16_loops(cpu_level level) noexcept {
  return pick(level, v2::bfloat16_codec, v3::bfloat16_codec, v4::bfloat16_codec);
}

} // namespace sluice::ops
