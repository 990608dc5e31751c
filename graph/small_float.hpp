#pragma once

#include <bit>
#include <cstdint>

namespace sluice {

/// IEEE 754 binary16, a storage type: convert to float to compute. Rounds to nearest even.
struct float16 {
  std::uint16_t bits = 0;

  float16() = default;
  explicit float16(float f) noexcept : bits(encode(f)) {}
  explicit operator float() const noexcept { return decode(bits); }
  friend bool operator==(float16 a, float16 b) noexcept { return float{a} == float{b}; }
  friend bool operator<(float16 a, float16 b) noexcept { return float{a} < float{b}; }

private:
  static std::uint16_t encode(float f) noexcept {
    const auto x = std::bit_cast<std::uint32_t>(f);
    const auto sign = static_cast<std::uint16_t>((x >> 16) & 0x8000u);
    const auto magnitude = x & 0x7fffffffu;
    if (magnitude >= 0x7f800000u) // infinity, or NaN kept quiet
      return static_cast<std::uint16_t>(
          sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x200u | ((magnitude >> 13) & 0x3ffu) : 0u));
    if (magnitude >= 0x477ff000u) // rounds past 65504
      return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { // subnormal: let the float adder round at the right bit
      const auto shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(0x3f000000u);
      return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const auto odd = (magnitude >> 13) & 1u;
    return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }

  static float decode(std::uint16_t h) noexcept {
    const auto sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
    const auto exponent = (h >> 10) & 0x1fu;
    const auto fraction = static_cast<std::uint32_t>(h & 0x3ffu);
    if (exponent == 0x1fu)
      return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
    if (exponent == 0) { // fraction * 2^-24
      const auto magnitude = static_cast<float>(fraction) * 0x1p-24f;
      return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
    }
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
  }
};

/// The upper half of a float, a storage type: convert to float to compute. Rounds to nearest even.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  explicit bfloat16(float f) noexcept {
    const auto x = std::bit_cast<std::uint32_t>(f);
    if ((x & 0x7fffffffu) > 0x7f800000u)
      bits = static_cast<std::uint16_t>((x >> 16) | 0x40u);
    else
      bits = static_cast<std::uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
  }
  explicit operator float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  friend bool operator==(bfloat16 a, bfloat16 b) noexcept { return float{a} == float{b}; }
  friend bool operator<(bfloat16 a, bfloat16 b) noexcept { return float{a} < float{b}; }
};

} // namespace sluice
