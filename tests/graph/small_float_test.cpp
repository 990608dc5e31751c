#include <sluice/graph/small_float.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

using namespace sluice;

namespace {

constexpr std::uint32_t patterns = 65'536;

template <class T>
T of_bits(std::uint32_t bits) {
  T t;
  t.bits = static_cast<std::uint16_t>(bits);
  return t;
}

/// What a pattern with the given widths of exponent and fraction means, by IEEE 754's formula.
double meaning(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const auto bias = (1 << (exponent_bits - 1)) - 1;
  const auto fraction =
      static_cast<double>(bits & ((1u << fraction_bits) - 1)) * std::ldexp(1.0, -fraction_bits);
  const auto exponent = static_cast<int>(bits >> fraction_bits & ((1u << exponent_bits) - 1));
  const auto sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
}

template <class T>
void check_all_patterns(int exponent_bits, int fraction_bits) {
  std::uint32_t wrong = 0;
  for (std::uint32_t bits = 0; bits < patterns; ++bits) {
    const auto x = static_cast<float>(of_bits<T>(bits));
    const auto expected = meaning(bits, exponent_bits, fraction_bits);
    const auto back = T{x};
    const auto right = std::isnan(expected)
                           ? std::isnan(x) && std::isnan(static_cast<float>(back))
                           : x == expected && std::signbit(x) == std::signbit(expected) && back.bits == bits;
    wrong += right ? 0 : 1;
  }
  BOOST_TEST(wrong == 0u);
}

/// Between two neighbours: nearer ones win, and at the middle the one with an even last bit.
template <class T>
void check_rounding(std::uint32_t infinity) {
  std::uint32_t wrong = 0;
  for (std::uint32_t bits = 0; bits + 1 < infinity; ++bits) {
    const auto low = static_cast<double>(static_cast<float>(of_bits<T>(bits)));
    const auto high = static_cast<double>(static_cast<float>(of_bits<T>(bits + 1)));
    const auto middle = static_cast<float>((low + high) / 2); // exact: a float has bits to spare
    const auto even = bits % 2 == 0 ? bits : bits + 1;
    for (const auto sign : {0u, 0x8000u}) {
      const auto signed_to = [sign](float x) { return std::uint32_t{T{sign ? -x : x}.bits}; };
      wrong += signed_to(middle) == (even | sign) ? 0 : 1;
      wrong += signed_to(std::nextafter(middle, 0.0f)) == (bits | sign) ? 0 : 1;
      wrong +=
          signed_to(std::nextafter(middle, std::numeric_limits<float>::max())) == ((bits + 1) | sign) ? 0 : 1;
    }
  }
  BOOST_TEST(wrong == 0u);
}

} // namespace

BOOST_AUTO_TEST_SUITE(small_float)

BOOST_AUTO_TEST_CASE(every_float16_means_what_ieee_754_says_and_converts_back) {
  check_all_patterns<float16>(5, 10);
}

BOOST_AUTO_TEST_CASE(every_bfloat16_means_what_its_upper_half_of_a_float_says_and_converts_back) {
  check_all_patterns<bfloat16>(8, 7);
}

BOOST_AUTO_TEST_CASE(float16_rounds_to_the_nearest_and_ties_to_even) {
  check_rounding<float16>(0x7c00);
}

BOOST_AUTO_TEST_CASE(bfloat16_rounds_to_the_nearest_and_ties_to_even) {
  check_rounding<bfloat16>(0x7f80);
}

BOOST_AUTO_TEST_CASE(what_is_too_large_becomes_infinite_and_what_is_too_small_zero) {
  BOOST_TEST(float16{65519.996f}.bits == 0x7bff);
  BOOST_TEST(float16{65520.0f}.bits == 0x7c00);
  BOOST_TEST(float16{-1e9f}.bits == 0xfc00);
  BOOST_TEST(float16{std::ldexp(1.0f, -25)}.bits == 0); // half of the smallest: a tie, to even
  BOOST_TEST(float16{-std::ldexp(1.1f, -25)}.bits == 0x8001);
  BOOST_TEST(float16{std::numeric_limits<float>::denorm_min()}.bits == 0);
  BOOST_TEST(bfloat16{std::numeric_limits<float>::max()}.bits == 0x7f80);
  BOOST_TEST(bfloat16{std::numeric_limits<float>::infinity()}.bits == 0x7f80);
}

BOOST_AUTO_TEST_CASE(not_a_number_never_turns_into_infinity) {
  for (const auto payload : {0x7f800001u, 0x7fc00000u, 0xff800001u, 0x7fffffffu, 0xffffffffu}) {
    const auto nan = std::bit_cast<float>(payload);
    BOOST_TEST(std::isnan(static_cast<float>(float16{nan})));
    BOOST_TEST(std::isnan(static_cast<float>(bfloat16{nan})));
  }
}

BOOST_AUTO_TEST_CASE(comparison_is_that_of_the_numbers) {
  BOOST_TEST((float16{-0.0f} == float16{0.0f}));
  BOOST_TEST((float16{-1.0f} < float16{0.5f}));
  BOOST_TEST(!(of_bits<float16>(0x7e00) == of_bits<float16>(0x7e00)));
  BOOST_TEST((bfloat16{-2.0f} < bfloat16{-1.0f}));
}

BOOST_AUTO_TEST_SUITE_END()
