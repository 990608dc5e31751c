#include "random_tensor.hpp"
#include "run_op.hpp"

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

using ints = std::vector<std::int64_t>;

value byte(std::uint8_t v) {
  return tensor::of_scalar(v);
}
value number(float v) {
  return tensor::of_scalar(v);
}

} // namespace

BOOST_AUTO_TEST_SUITE(quantized_test)

BOOST_AUTO_TEST_CASE(zero_points_are_subtracted_by_row_and_column) {
  const value a = tensor::of<std::uint8_t>({2, 3}, {0, 255, 7, 3, 128, 9});
  const value b = tensor::of<std::int8_t>({3, 2}, {-128, 127, 5, -6, 1, 0});
  const value a_zero = tensor::of<std::uint8_t>({2}, {7, 128});
  const value b_zero = tensor::of<std::int8_t>({2}, {-1, 2});
  const auto y = run_op("MatMulInteger", {a, b, a_zero, b_zero})[0];
  std::vector<std::int32_t> expected;
  const int az[] = {7, 128}, bz[] = {-1, 2};
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j) {
      std::int32_t sum = 0;
      for (std::size_t k = 0; k < 3; ++k)
        sum += (a.tensor().data<std::uint8_t>()[i * 3 + k] - az[i]) *
               (b.tensor().data<std::int8_t>()[k * 2 + j] - bz[j]);
      expected.push_back(sum);
    }
  BOOST_TEST(y.tensor().data<std::int32_t>() == expected, boost::test_tools::per_element());
  BOOST_CHECK_THROW(run_op("MatMulInteger", {a, b, tensor::of<std::uint8_t>({3}, {1, 2, 3})}), error);
  BOOST_CHECK_THROW(run_op("MatMulInteger", {a, b, {}, tensor::of<std::int8_t>({3}, {1, 2, 3})}), error);
}

BOOST_AUTO_TEST_CASE(results_are_rounded_to_even_and_clamped) {
  const value a = tensor::of<std::uint8_t>({1, 1}, {10});
  const auto product = [&](std::uint8_t b, float scale) {
    const auto y =
        run_op("QLinearMatMul", {a, number(1), byte(0), value{tensor::of<std::uint8_t>({1, 1}, {b})},
                                 number(1), byte(0), number(scale), byte(3)});
    return y[0].scalar<std::uint8_t>();
  };
  BOOST_TEST(product(1, 4) == 5);  // 2.5 to 2
  BOOST_TEST(product(3, 4) == 11); // 7.5 to 8
  BOOST_TEST(product(100, 1) == 255);
}

BOOST_AUTO_TEST_CASE(a_quantised_convolution_is_the_real_one_within_a_step) {
  const auto x = whole_numbers<std::uint8_t>({1, 2, 6, 6}, 1, 0, 20);
  const auto w = whole_numbers<std::uint8_t>({3, 2, 3, 3}, 2, 0, 9);
  const value w_scale = tensor::of<float>({3}, {0.5f, 0.25f, 1});
  const value w_zero = tensor::of<std::uint8_t>({3}, {4, 5, 0});
  const value bias = tensor::of<std::int32_t>({3}, {7, -70, 0});
  const attribute_map a{{"pads", ints{1, 1, 1, 1}}};
  const auto y = run_op("QLinearConv",
                        {x, number(0.5f), byte(10), w, w_scale, w_zero, number(4), byte(100), bias}, a)[0];
  auto real_x = tensor::make(element_type::float32, x->shape());
  auto real_w = tensor::make(element_type::float32, w->shape());
  for (std::size_t i = 0; i < x->data<std::uint8_t>().size(); ++i)
    real_x->data<float>()[i] = 0.5f * static_cast<float>(x->data<std::uint8_t>()[i] - 10);
  const float scales[] = {0.5f, 0.25f, 1};
  const int zeros[] = {4, 5, 0};
  for (std::size_t i = 0; i < w->data<std::uint8_t>().size(); ++i)
    real_w->data<float>()[i] =
        scales[i / 18] * static_cast<float>(w->data<std::uint8_t>()[i] - zeros[i / 18]);
  const value real_bias = tensor::of<float>({3}, {7 * 0.25f, -70 * 0.125f, 0});
  const auto real = run_op("Conv", {real_x, real_w, real_bias}, a)[0];
  const auto sums = run_op("ConvInteger", {x, w, byte(10), w_zero}, a)[0];
  for (std::size_t i = 0; i < y.tensor().data<std::uint8_t>().size(); ++i) {
    const auto expected = std::clamp(std::nearbyint(real.tensor().data<float>()[i] / 4) + 100, 0.0f, 255.0f);
    BOOST_TEST(static_cast<float>(y.tensor().data<std::uint8_t>()[i]) == expected);
    const auto sum = static_cast<float>(sums.tensor().data<std::int32_t>()[i]) * 0.5f * scales[i / 36];
    BOOST_TEST(sum == real.tensor().data<float>()[i] - real_bias.tensor().data<float>()[i / 36]);
  }
}

BOOST_AUTO_TEST_CASE(scales_that_do_not_fit_are_refused) {
  const auto x = whole_numbers<std::uint8_t>({1, 1, 2, 2}, 1, 0, 9);
  const auto w = whole_numbers<std::uint8_t>({3, 1, 1, 1}, 1, 0, 9);
  const value two = tensor::of<float>({2}, {1, 2});
  const value short_bias = tensor::of<std::int32_t>({2}, {1, 2});
  BOOST_CHECK_THROW(run_op("QLinearConv", {x, number(1), byte(0), w, two, byte(0), number(1), byte(0)}),
                    error);
  BOOST_CHECK_THROW(run_op("QLinearConv", {x, two, byte(0), w, number(1), byte(0), number(1), byte(0)}),
                    error);
  BOOST_CHECK_THROW(
      run_op("QLinearConv", {x, number(1), byte(0), w, number(1), byte(0), number(1), byte(0), short_bias}),
      error);
}

BOOST_AUTO_TEST_SUITE_END()
