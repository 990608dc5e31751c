#include <sluice/ops/levels/functions.hpp>
#include <sluice/ops/levels/tables.hpp>

namespace sluice::ops::SLUICE_LEVEL {

namespace {

void decode_float16(const std::uint16_t* x, float* y, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t half = x[i];
    const auto magnitude = (half & 0x7fffu) << 13;
    // The float with these bits is 2^-112 of the value, subnormals included; infinity and NaN stay all ones.
    const auto scaled = to_bits(from_bits(magnitude) * 0x1p112f);
    const auto bits = as_signed(magnitude) >= (0x7c00 << 13) ? magnitude | 0x7f800000u : scaled;
    y[i] = from_bits(((half & 0x8000u) << 16) | bits);
  }
}

void encode_float16(const float* x, std::uint16_t* y, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = to_bits(x[i]);
    const auto magnitude = bits & 0x7fffffffu;
    const auto size = as_signed(magnitude); // signed comparisons are cheap at every level
    const auto subnormal = to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000u; // the adder rounds
    const auto normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    const auto finite = size < 0x38800000 ? subnormal : normal;
    const auto large = size > 0x7f800000 ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : 0x7c00u;
    y[i] = static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | (size >= 0x477ff000 ? large : finite));
  }
}

void decode_bfloat16(const std::uint16_t* x, float* y, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i)
    y[i] = from_bits(static_cast<std::uint32_t>(x[i]) << 16);
}

void encode_bfloat16(const float* x, std::uint16_t* y, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = to_bits(x[i]);
    const auto rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const auto not_a_number = (bits >> 16) | 0x40u;
    y[i] = static_cast<std::uint16_t>(as_signed(bits & 0x7fffffffu) > 0x7f800000 ? not_a_number : rounded);
  }
}

} // namespace

const small_float_loops float16_codec = {decode_float16, encode_float16};
const small_float_loops bfloat16_codec = {decode_bfloat16, encode_bfloat16};

} // namespace sluice::ops::SLUICE_LEVEL
