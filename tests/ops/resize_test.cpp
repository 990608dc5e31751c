#include "random_tensor.hpp"
#include "run_op.hpp"

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

value floats(std::vector<float> v) {
  return tensor::of<float>({static_cast<std::int64_t>(v.size())}, v);
}
value integers(std::vector<std::int64_t> v) {
  return tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}
attribute_map words(std::initializer_list<std::pair<const std::string, std::string>> w) {
  attribute_map a;
  for (const auto& [name, word] : w)
    a.set(name, word);
  return a;
}

} // namespace

BOOST_AUTO_TEST_SUITE(resize_test)

BOOST_AUTO_TEST_CASE(each_coordinate_mode_places_samples_as_defined) {
  const value x = tensor::of<float>({1, 1, 4}, {0, 1, 2, 3});
  const auto linear = [&](const char* where, const value& scales, const value& sizes) {
    return run_op("Resize", {x, {}, scales, sizes},
                  words({{"mode", "linear"}, {"coordinate_transformation_mode", where}}))[0];
  };
  const auto twice = floats({1, 1, 2});
  BOOST_TEST(difference<float>(linear("half_pixel", twice, {}),
                               std::vector<float>{0, .25f, .75f, 1.25f, 1.75f, 2.25f, 2.75f, 3}) < 1e-6);
  BOOST_TEST(difference<float>(linear("asymmetric", twice, {}),
                               std::vector<float>{0, .5f, 1, 1.5f, 2, 2.5f, 3, 3}) < 1e-6);
  BOOST_TEST(difference<float>(linear("align_corners", {}, integers({1, 1, 7})),
                               std::vector<float>{0, .5f, 1, 1.5f, 2, 2.5f, 3}) < 1e-6);
  BOOST_TEST(difference<float>(linear("pytorch_half_pixel", {}, integers({1, 1, 1})), std::vector<float>{0}) <
             1e-6);
  BOOST_TEST(difference<float>(linear("half_pixel", {}, integers({1, 1, 1})), std::vector<float>{1.5f}) <
             1e-6);
}

BOOST_AUTO_TEST_CASE(halves_are_rounded_as_the_node_says) {
  const value x = tensor::of<float>({4}, {0, 1, 2, 3});
  const auto nearest = [&](const char* rounding) {
    return run_op("Resize", {x, {}, {}, integers({8})},
                  words({{"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", rounding}}))[0];
  };
  BOOST_TEST(difference<float>(nearest("floor"), std::vector<float>{0, 0, 1, 1, 2, 2, 3, 3}) == 0);
  BOOST_TEST(difference<float>(nearest("round_prefer_floor"), std::vector<float>{0, 0, 1, 1, 2, 2, 3, 3}) ==
             0);
  BOOST_TEST(difference<float>(nearest("round_prefer_ceil"), std::vector<float>{0, 1, 1, 2, 2, 3, 3, 3}) ==
             0);
  BOOST_TEST(difference<float>(nearest("ceil"), std::vector<float>{0, 1, 1, 2, 2, 3, 3, 3}) == 0);
}

BOOST_AUTO_TEST_CASE(an_extent_is_rounded_down_in_floats) {
  const value x = uniform_numbers({10}, 1);
  BOOST_TEST((run_op("Resize", {x, {}, floats({0.7f})})[0].tensor().shape() == shape{7}));
}

BOOST_AUTO_TEST_CASE(a_crop_outside_takes_the_extrapolation_value) {
  const value x = tensor::of<float>({4}, {0, 1, 2, 3});
  auto a = words({{"mode", "linear"}, {"coordinate_transformation_mode", "tf_crop_and_resize"}});
  a.set("extrapolation_value", 9.0f);
  const auto y = run_op("Resize", {x, floats({0, 2}), {}, integers({3})}, a)[0];
  BOOST_TEST(difference<float>(y, std::vector<float>{0, 3, 9}) < 1e-6);
}

BOOST_AUTO_TEST_CASE(any_type_has_a_nearest_element) {
  const value x = tensor::of<std::string>({2}, {"a", "b"});
  const auto y = run_op("Resize", {x, {}, floats({2})})[0];
  BOOST_TEST(y.tensor().data<std::string>()[1] == "a");
  BOOST_TEST(y.tensor().data<std::string>()[2] == "b");
}

BOOST_AUTO_TEST_CASE(planes_are_interpolated_alike_in_every_position) {
  const auto row = uniform_numbers({1, 1, 7, 1}, 1);
  const auto column = tensor::reshaped(row, {1, 1, 1, 7});
  for (const auto* mode : {"linear", "cubic"}) {
    const auto a = run_op("Resize", {row, {}, floats({1, 1, 2.5f, 1})}, words({{"mode", mode}}))[0];
    const auto b = run_op("Resize", {column, {}, floats({1, 1, 1, 2.5f})}, words({{"mode", mode}}))[0];
    BOOST_TEST(difference<float>(a, b.tensor().data<float>()) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(old_upsampling_repeats_or_interpolates_from_the_corner) {
  const value x = tensor::of<float>({2}, {1, 3});
  BOOST_TEST(difference<float>(run_op("Upsample", {x, floats({2})}, {}, {.opset = 9})[0],
                               std::vector<float>{1, 1, 3, 3}) == 0);
  BOOST_TEST(difference<float>(run_op("Upsample", {x},
                                      {{"scales", std::vector<float>{2}}, {"mode", std::string{"linear"}}},
                                      {.opset = 7})[0],
                               std::vector<float>{1, 2, 3, 3}) == 0);
}

BOOST_AUTO_TEST_CASE(numbers_that_mean_nothing_are_refused) {
  const value x = uniform_numbers({1, 4}, 1);
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& scales :
       {floats({1}), floats({1, 0}), floats({1, -2}), floats({1, nan}), floats({1, 1e30f}), floats({})})
    BOOST_CHECK_THROW(run_op("Resize", {x, {}, scales}), error);
  BOOST_CHECK_THROW(run_op("Resize", {x, {}, {}, integers({1, -4})}), error);
  BOOST_CHECK_THROW(run_op("Resize", {x, {}, {}, integers({1})}), error);
  BOOST_CHECK_THROW(run_op("Resize", {x}), error);
  BOOST_CHECK_THROW(run_op("Resize", {x, {}, floats({1, 2})}, words({{"mode", "magic"}})), error);
  const value empty = tensor::make(element_type::float32, {1, 0});
  BOOST_CHECK_THROW(run_op("Resize", {empty, {}, {}, integers({1, 4})}), error);
  BOOST_TEST((run_op("Resize", {empty, {}, floats({1, 2})})[0].tensor().shape() == shape{1, 0}));
}

BOOST_AUTO_TEST_SUITE_END()
