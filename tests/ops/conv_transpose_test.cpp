#include "random_tensor.hpp"
#include "run_op.hpp"

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

using ints = std::vector<std::int64_t>;

double dot(const tensor& a, const tensor& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.data<float>().size(); ++i)
    sum += static_cast<double>(a.data<float>()[i]) * static_cast<double>(b.data<float>()[i]);
  return sum;
}

} // namespace

BOOST_AUTO_TEST_SUITE(conv_transpose_test)

BOOST_AUTO_TEST_CASE(it_is_the_transposed_map_of_a_convolution) {
  // <conv(y), x> = <y, conv transposed(x)> for every x and y, with whole numbers exactly.
  struct geometry {
    std::int64_t groups, in, out;
    ints y, kernel, strides, dilations, pads;
  };
  const geometry cases[] = {
      {1, 2, 3, {7, 9}, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {2, 2, 3, {9, 8}, {3, 2}, {2, 3}, {1, 1}, {1, 0, 1, 0}},
      {1, 3, 2, {30, 41}, {2, 3}, {1, 2}, {2, 1}, {0, 1, 1, 1}},
      {3, 1, 1, {12}, {4}, {2}, {1}, {1, 1}},
      {1, 2, 2, {5, 5, 5}, {2, 2, 2}, {1, 3, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
  };
  for (const auto& g : cases) {
    ints y_dims{2, g.groups * g.in}, w_dims{g.groups * g.out, g.in};
    y_dims.insert(y_dims.end(), g.y.begin(), g.y.end());
    w_dims.insert(w_dims.end(), g.kernel.begin(), g.kernel.end());
    const attribute_map a{
        {"group", g.groups}, {"strides", g.strides}, {"dilations", g.dilations}, {"pads", g.pads}};
    const auto y = whole_numbers<float>(shape{y_dims}, 1);
    const auto w = whole_numbers<float>(shape{w_dims}, 2);
    const auto seen = run_op("Conv", {y, w}, a)[0];
    const auto x = whole_numbers<float>(seen.tensor().shape(), 3);
    auto back_attributes = a;
    back_attributes.set("output_padding", [&] { // what the convolution's rounding down left out
      ints extra;
      for (std::size_t i = 0; i < g.y.size(); ++i)
        extra.push_back(
            (g.y[i] + g.pads[i] + g.pads[i + g.y.size()] - (g.kernel[i] - 1) * g.dilations[i] - 1) %
            g.strides[i]);
      return extra;
    }());
    const auto back = run_op("ConvTranspose", {x, w}, back_attributes)[0];
    BOOST_TEST_CONTEXT(to_string(y->shape())) {
      BOOST_TEST((back.tensor().shape() == y->shape()));
      BOOST_TEST(dot(seen.tensor(), *x) == dot(*y, back.tensor()));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_wanted_shape_decides_the_padding) {
  const auto x = whole_numbers<float>({1, 1, 3, 3}, 1);
  const auto w = whole_numbers<float>({1, 2, 3, 3}, 2);
  const auto with = [&](attribute_map a) {
    a.set("strides", ints{3, 2});
    return run_op("ConvTranspose", {x, w}, std::move(a))[0].tensor().shape();
  };
  BOOST_TEST((with({}) == shape{1, 2, 9, 7}));
  BOOST_TEST((with({{"output_shape", ints{10, 8}}}) == shape{1, 2, 10, 8}));
  BOOST_TEST((with({{"output_padding", ints{1, 1}}}) == shape{1, 2, 10, 8}));
  BOOST_TEST((with({{"auto_pad", std::string{"SAME_UPPER"}}}) == shape{1, 2, 9, 6}));
  BOOST_CHECK_THROW(with({{"pads", ints{9, 9, 9, 9}}}), error);
}

BOOST_AUTO_TEST_CASE(a_bias_is_added_everywhere) {
  const auto one = tensor::of<float>({1, 1, 1, 1}, {2});
  const auto w = tensor::of<float>({1, 1, 1, 2}, {1, 3});
  const auto y = run_op("ConvTranspose", {one, w, tensor::of<float>({1}, {10})},
                        {{"strides", ints{2, 2}}, {"output_padding", ints{1, 1}}})[0];
  BOOST_TEST(difference<float>(y, std::vector<float>{12, 16, 10, 10, 10, 10}) == 0);
  BOOST_CHECK_THROW(run_op("ConvTranspose", {one, w, tensor::of<float>({2}, {1, 2})}), error);
}

BOOST_AUTO_TEST_SUITE_END()
