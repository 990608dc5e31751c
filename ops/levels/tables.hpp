#pragma once

#include <sluice/ops/vector_math.hpp>

/// What the sources of this folder define, once for each level of the instruction set.
namespace sluice::ops {

namespace v2 {
extern const vector_loops<float> float_loops;
extern const vector_loops<double> double_loops;
extern const small_float_loops float16_codec;
extern const small_float_loops bfloat16_codec;
} // namespace v2

namespace v3 {
extern const vector_loops<float> float_loops;
extern const vector_loops<double> double_loops;
extern const small_float_loops float16_codec;
extern const small_float_loops bfloat16_codec;
} // namespace v3

namespace v4 {
extern const vector_loops<float> float_loops;
extern const vector_loops<double> double_loops;
extern const small_float_loops float16_codec;
extern const small_float_loops bfloat16_codec;
} // namespace v4

} // namespace sluice::ops
