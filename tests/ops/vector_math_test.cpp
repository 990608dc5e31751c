#include <sluice/graph/small_float.hpp>
#include <sluice/ops/vector_math.hpp>

#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

using namespace sluice;
using namespace sluice::ops;

namespace {

std::vector<cpu_level> available_levels() {
  std::vector<cpu_level> levels;
  for (const auto l : cpu_levels)
    if (l <= supported_cpu_level())
      levels.push_back(l);
  return levels;
}

std::vector<float> apply(cpu_level level, unary_function f, std::vector<float> x,
                         std::array<float, 3> parameters = {}) {
  vector_math<float>(level)[f](x.data(), x.data(), x.size(), parameters.data());
  return x;
}

/// How far `y` is from `exact`, in units of the last place of a float there.
double ulps(float y, double exact) {
  if (std::isnan(exact) || std::isinf(static_cast<float>(exact)) || std::isinf(y))
    return std::isnan(exact) == std::isnan(y) && (std::isnan(y) || y == static_cast<float>(exact)) ? 0 : 1e9;
  const auto magnitude = std::max(std::abs(static_cast<float>(exact)), std::numeric_limits<float>::min());
  const auto unit = std::nextafter(magnitude, std::numeric_limits<float>::infinity()) - magnitude;
  return std::abs(static_cast<double>(y) - exact) / static_cast<double>(unit);
}

struct accuracy_case {
  unary_function function;
  double (*exact)(double);
  float low;
  float high;
  double allowed; ///< in units of the last place
};

constexpr auto infinity = std::numeric_limits<float>::infinity();
constexpr auto not_a_number = std::numeric_limits<float>::quiet_NaN();

} // namespace

BOOST_AUTO_TEST_SUITE(vector_math_test)

BOOST_AUTO_TEST_CASE(every_level_is_within_four_units_of_the_last_place) {
  const accuracy_case cases[] = {
      {unary_function::exp, [](double x) { return std::exp(x); }, -110, 95, 2},
      {unary_function::log, [](double x) { return std::log(x); }, 1e-44f, 4, 2},
      {unary_function::log, [](double x) { return std::log(x); }, 0.5f, 3e38f, 2},
      {unary_function::tanh, [](double x) { return std::tanh(x); }, -12, 12, 4},
      {unary_function::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -110, 100, 4},
      {unary_function::erf, [](double x) { return std::erf(x); }, -6, 6, 4},
      {unary_function::softplus,
       [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, -100, 100, 4},
      {unary_function::sin, [](double x) { return std::sin(x); }, -100, 100, 4},
      {unary_function::cos, [](double x) { return std::cos(x); }, -100, 100, 4},
      {unary_function::round, [](double x) { return std::nearbyint(x); }, -1e7f, 1e7f, 0},
      {unary_function::floor, [](double x) { return std::floor(x); }, -10, 10, 0},
      {unary_function::sqrt, [](double x) { return std::sqrt(x); }, 0, 1e30f, 0.5},
  };
  for (const auto level : available_levels())
    for (const auto& c : cases) {
      constexpr int n = 200'001;
      std::vector<float> x;
      for (int i = 0; i < n; ++i)
        x.push_back(static_cast<float>(c.low + (static_cast<double>(c.high) - c.low) * i / (n - 1)));
      for (const auto special :
           {0.0f, -0.0f, 1e-20f, -1e-6f, 3e-3f, 1.0f, 0.625f, -0.99f, infinity, -infinity, not_a_number})
        x.push_back(special);
      const auto y = apply(level, c.function, x);
      double worst = 0;
      float where = 0;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (const auto error = ulps(y[i], c.exact(x[i])); error > worst) {
          worst = error;
          where = x[i];
        }
      BOOST_TEST(worst <= c.allowed, "function " << static_cast<int>(c.function) << " at level "
                                                 << to_string(level) << " is off by " << worst << " units at "
                                                 << where);
    }
}

BOOST_AUTO_TEST_CASE(every_function_agrees_with_its_double_version_at_every_level) {
  for (const auto level : available_levels())
    for (std::size_t f = 0; f < unary_functions; ++f) {
      std::vector<float> x;
      for (int i = -500; i <= 500; ++i)
        x.push_back(static_cast<float>(i) * 0.0137f);
      std::vector<double> exact{x.begin(), x.end()};
      const std::array<double, 3> p = {0.75, 1.25, 1.5};
      vector_math<double>(level).unary[f](exact.data(), exact.data(), exact.size(), p.data());
      const auto y = apply(level, static_cast<unary_function>(f), x, {0.75f, 1.25f, 1.5f});
      for (std::size_t i = 0; i < x.size(); ++i)
        BOOST_REQUIRE_MESSAGE((std::isnan(exact[i]) && std::isnan(y[i])) ||
                                  static_cast<float>(exact[i]) == y[i] ||
                                  std::abs(exact[i] - y[i]) <= 1e-6 * std::abs(exact[i]) + 2e-7,
                              "function " << f << " of " << x[i] << " is " << y[i] << ", not " << exact[i]);
    }
}

BOOST_AUTO_TEST_CASE(angles_of_any_size_are_reduced) {
  std::vector<float> x = {7999.5f, -8000.5f, 1e6f, -3e7f, 1e30f, 2.0f};
  for (int i = 0; i < 5000; ++i)
    x.push_back(static_cast<float>(i) * 3.14159265f);
  for (const auto level : available_levels()) {
    const auto sines = apply(level, unary_function::sin, x);
    const auto cosines = apply(level, unary_function::cos, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      BOOST_REQUIRE(std::abs(sines[i] - std::sin(static_cast<double>(x[i]))) < 2e-7);
      BOOST_REQUIRE(std::abs(cosines[i] - std::cos(static_cast<double>(x[i]))) < 2e-7);
    }
    BOOST_TEST(std::isnan(apply(level, unary_function::sin, {infinity})[0]));
  }
}

BOOST_AUTO_TEST_CASE(an_element_has_the_same_bits_wherever_it_stands) {
  for (const auto level : available_levels())
    for (std::size_t f = 0; f < unary_functions; ++f) {
      const std::array<float, 3> p = {0.75f, 1.25f, 1.5f};
      std::vector<float> x;
      for (int i = 0; i < 67; ++i)
        x.push_back(static_cast<float>(i) * 0.093f - 2.0f);
      const auto y = apply(level, static_cast<unary_function>(f), x, p);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto alone = apply(level, static_cast<unary_function>(f), {x[i]}, p);
        BOOST_REQUIRE_MESSAGE(std::bit_cast<std::uint32_t>(alone[0]) == std::bit_cast<std::uint32_t>(y[i]),
                              "function " << f << " of " << x[i] << " at level " << to_string(level));
      }
    }
}

BOOST_AUTO_TEST_CASE(reductions_agree_with_double_precision_at_every_level) {
  std::vector<float> x;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 100'003; ++i) {
    x.push_back(static_cast<float>(std::sin(i) + 0.5));
    sum += static_cast<double>(x.back());
    squares += (static_cast<double>(x.back()) - 0.5) * (static_cast<double>(x.back()) - 0.5);
  }
  x[70'001] = 9.0f;
  x[13] = -9.0f;
  sum += 9.0 - (std::sin(70'001) + 0.5) - 9.0 - (std::sin(13) + 0.5);
  squares += 8.5 * 8.5 + 9.5 * 9.5 - std::pow(std::sin(70'001), 2) - std::pow(std::sin(13), 2);
  for (const auto level : available_levels()) {
    const auto& loops = vector_math<float>(level);
    BOOST_TEST(loops.sum(x.data(), x.size()) == sum, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(loops.sum_of_squares(x.data(), x.size(), 0.5f) == squares, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(loops.max(x.data(), x.size()) == 9.0f);
    BOOST_TEST(loops.min(x.data(), x.size()) == -9.0f);
    BOOST_TEST(loops.max(x.data(), 0) == -infinity);
    BOOST_TEST(loops.sum(x.data(), 0) == 0.0f);
  }
}

BOOST_AUTO_TEST_CASE(small_floats_convert_as_their_types_say_at_every_level) {
  std::vector<std::uint16_t> all;
  for (std::uint32_t i = 0; i < 65'536; ++i)
    all.push_back(static_cast<std::uint16_t>(i));
  for (const auto level : available_levels()) {
    std::vector<float> decoded(all.size());
    float16_loops(level).decode(all.data(), decoded.data(), all.size());
    std::vector<std::uint16_t> encoded(all.size());
    float16_loops(level).encode(decoded.data(), encoded.data(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto expected = static_cast<float>(std::bit_cast<float16>(all[i]));
      BOOST_REQUIRE(std::bit_cast<std::uint32_t>(decoded[i]) == std::bit_cast<std::uint32_t>(expected));
      BOOST_REQUIRE(encoded[i] == float16{expected}.bits);
    }
    std::vector<float> between;
    for (std::uint32_t i = 0; i < 65'536; ++i)
      between.push_back(std::bit_cast<float>(i * 65'537u));
    bfloat16_loops(level).encode(between.data(), encoded.data(), between.size());
    for (std::size_t i = 0; i < between.size(); ++i)
      BOOST_REQUIRE(encoded[i] == bfloat16{between[i]}.bits);
    float16_loops(level).encode(between.data(), encoded.data(), between.size());
    for (std::size_t i = 0; i < between.size(); ++i)
      BOOST_REQUIRE(encoded[i] == float16{between[i]}.bits);
  }
}

BOOST_AUTO_TEST_SUITE_END()
