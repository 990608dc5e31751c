#include "random_tensor.hpp"
#include "run_op.hpp"

#include <tests/support/elements.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

value ones(std::int64_t n) {
  return whole_numbers<float>({n}, 1, 1, 1);
}

} // namespace

BOOST_AUTO_TEST_SUITE(normalization_test)

BOOST_AUTO_TEST_CASE(a_normalised_row_has_mean_zero_and_variance_one) {
  const value x = uniform_numbers({3, 40, 50}, 1);
  const auto out = run_op("LayerNormalization", {x, ones(2000)},
                          {{"axis", std::int64_t{-2}}, {"epsilon", 0.0F}}, {.outputs = 3});
  for (std::size_t row = 0; row < 3; ++row) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < 2000; ++i) {
      const auto y = static_cast<double>(out[0].tensor().data<float>()[row * 2000 + i]);
      sum += y;
      squares += y * y;
    }
    BOOST_TEST(std::abs(sum / 2000) < 1e-5);
    BOOST_TEST(std::abs(squares / 2000 - 1) < 1e-5);
  }
  BOOST_TEST((out[1].tensor().shape() == shape{3, 1, 1}));
  BOOST_CHECK_THROW(static_cast<void>(run_op("LayerNormalization", {x, ones(49)})), error);
}

BOOST_AUTO_TEST_CASE(batch_statistics_are_used_and_kept_only_in_training) {
  const value x = tensor::of<float>({2, 2}, {0, 10, 4, 10});
  const value zero = tensor::of<float>({2}, {0, 0});
  const auto infer = run_op("BatchNormalization", {x, ones(2), zero, zero, ones(2)}, {{"epsilon", 0.0F}});
  BOOST_TEST(floats(infer[0]) == (std::vector<float>{0, 10, 4, 10}), boost::test_tools::per_element());
  const auto train =
      run_op("BatchNormalization", {x, ones(2), zero, zero, ones(2)},
             {{"epsilon", 1e-3F}, {"momentum", 0.5F}, {"training_mode", std::int64_t{1}}}, {.outputs = 3});
  BOOST_TEST(std::abs(floats(train[0])[0] + 2 / std::sqrt(4.001f)) < 1e-5f);
  BOOST_TEST(std::abs(floats(train[0])[1]) < 1e-4f); // 10 - 10, magnified by the small variance
  BOOST_TEST(floats(train[1]) == (std::vector<float>{1, 5}), boost::test_tools::per_element());
  BOOST_TEST(floats(train[2]) == (std::vector<float>{2.5, 0.5}), boost::test_tools::per_element());
  BOOST_CHECK_THROW(static_cast<void>(run_op("BatchNormalization", {x, ones(3), zero, zero, ones(2)})),
                    error);
  BOOST_CHECK_THROW(static_cast<void>(run_op("BatchNormalization", {x, ones(2), zero, zero, ones(2)},
                                             {{"spatial", std::int64_t{0}}}, {.opset = 7})),
                    error);
}

BOOST_AUTO_TEST_CASE(local_response_follows_its_formula_for_any_power) {
  const value x = uniform_numbers({2, 7, 3, 100}, 2);
  for (const auto beta : {0.75F, 0.5F}) {
    const std::int64_t size = 4;
    const auto out = run_op("LRN", {x}, {{"size", size}, {"alpha", 0.3F}, {"beta", beta}, {"bias", 2.0F}})[0];
    const auto in = x.tensor().data<float>();
    std::vector<float> expected;
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t c = 0; c < 7; ++c)
        for (std::int64_t i = 0; i < 300; ++i) {
          const auto at = [&](std::int64_t k) {
            return static_cast<double>(in[static_cast<std::size_t>((b * 7 + k) * 300 + i)]);
          };
          double sum = 0;
          for (auto k = std::max<std::int64_t>(0, c - 1); k <= std::min<std::int64_t>(6, c + 2); ++k)
            sum += at(k) * at(k);
          expected.push_back(
              static_cast<float>(at(c) / std::pow(2 + 0.3 / 4 * sum, static_cast<double>(beta))));
        }
    BOOST_TEST(difference(out, expected) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(each_channel_of_each_image_is_normalised_by_itself) {
  const value x = tensor::of<float>({1, 2, 2}, {1, 3, 100, 300});
  const value scale = tensor::of<float>({2}, {2, 1});
  const value bias = tensor::of<float>({2}, {5, 0});
  const auto out = run_op("InstanceNormalization", {x, scale, bias}, {{"epsilon", 0.0F}})[0];
  BOOST_TEST(difference(out, std::vector<float>{3, 7, -1, 1}) < 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
