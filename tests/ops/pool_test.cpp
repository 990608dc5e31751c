#include "random_tensor.hpp"
#include "run_op.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>

using namespace sluice;
using namespace sluice::test;

namespace {

using ints = std::vector<std::int64_t>;

struct plain_pool {
  std::int64_t n = 1, channels = 1;
  std::array<std::int64_t, 2> image{1, 1}, kernel{1, 1}, stride{1, 1}, dilation{1, 1}, begin{0, 0}, end{0, 0};
  bool ceil = false;

  [[nodiscard]] std::int64_t y_extent(std::size_t a) const {
    const auto room = image[a] + begin[a] + end[a] - (kernel[a] - 1) * dilation[a] - 1;
    auto out = room / stride[a] + 1;
    if (ceil && room % stride[a] != 0 && out * stride[a] < image[a] + begin[a])
      ++out;
    return out;
  }

  /// Calls `fold(elements inside, positions that are inside or padding)` for each window.
  std::vector<float> operator()(const tensor& x,
                                const std::function<float(const std::vector<float>&, int)>& fold) const {
    std::vector<float> y;
    for (std::int64_t plane = 0; plane < n * channels; ++plane)
      for (std::int64_t r = 0; r < y_extent(0); ++r)
        for (std::int64_t c = 0; c < y_extent(1); ++c) {
          std::vector<float> seen;
          int padded = 0;
          for (std::int64_t p = 0; p < kernel[0]; ++p)
            for (std::int64_t q = 0; q < kernel[1]; ++q) {
              const auto row = r * stride[0] + p * dilation[0] - begin[0];
              const auto col = c * stride[1] + q * dilation[1] - begin[1];
              padded += row < image[0] + end[0] && col < image[1] + end[1];
              if (row >= 0 && col >= 0 && row < image[0] && col < image[1])
                seen.push_back(
                    x.data<float>()[static_cast<std::size_t>((plane * image[0] + row) * image[1] + col)]);
            }
          y.push_back(fold(seen, padded));
        }
    return y;
  }

  [[nodiscard]] attribute_map attributes() const {
    return {{"kernel_shape", ints{kernel[0], kernel[1]}},
            {"strides", ints{stride[0], stride[1]}},
            {"dilations", ints{dilation[0], dilation[1]}},
            {"ceil_mode", std::int64_t{ceil}},
            {"pads", ints{begin[0], begin[1], end[0], end[1]}}};
  }
};

const plain_pool cases[] = {
    {.channels = 3, .image = {6, 40}, .kernel = {2, 2}, .stride = {2, 2}},
    {.n = 2, .channels = 2, .image = {9, 37}, .kernel = {3, 3}, .begin = {1, 1}, .end = {1, 1}},
    {.image = {10, 11}, .kernel = {3, 2}, .stride = {2, 3}, .begin = {1, 0}, .end = {2, 1}, .ceil = true},
    {.image = {10, 11},
     .kernel = {3, 2},
     .stride = {2, 3},
     .dilation = {2, 3},
     .begin = {1, 2},
     .ceil = true},
    {.image = {4, 4}, .kernel = {3, 3}, .stride = {2, 2}, .ceil = true},
    {.image = {2, 2}, .kernel = {1, 1}, .stride = {3, 3}, .ceil = true},
};

float largest(const std::vector<float>& seen, int) {
  return *std::max_element(seen.begin(), seen.end());
}
float sum(const std::vector<float>& seen) {
  float s = 0;
  for (const auto x : seen)
    s += x;
  return s;
}

} // namespace

BOOST_AUTO_TEST_SUITE(pool_test)

BOOST_AUTO_TEST_CASE(windows_of_every_geometry_are_folded_as_defined) {
  for (const auto& c : cases) {
    const auto x = uniform_numbers({c.n, c.channels, c.image[0], c.image[1]}, 1);
    const auto attributes = c.attributes();
    auto with = [&](const char* name, std::int64_t v) {
      auto a = attributes;
      a.set(name, v);
      return a;
    };
    BOOST_TEST_CONTEXT(to_string(x->shape())) {
      BOOST_TEST(difference<float>(run_op("MaxPool", {x}, attributes)[0], c(*x, largest)) == 0);
      BOOST_TEST(
          difference<float>(run_op("AveragePool", {x}, attributes)[0], c(*x, [](const auto& seen, int) {
                              return sum(seen) / static_cast<float>(seen.size());
                            })) < 1e-6);
      BOOST_TEST(difference<float>(run_op("AveragePool", {x}, with("count_include_pad", 1))[0],
                                   c(*x, [](const auto& seen, int padded) {
                                     return sum(seen) / static_cast<float>(padded);
                                   })) < 1e-6);
      BOOST_TEST(difference<float>(run_op("LpPool", {x}, with("p", 3))[0], c(*x, [](auto seen, int) {
                                     for (auto& e : seen)
                                       e = std::pow(std::abs(e), 3.0f);
                                     return std::cbrt(sum(seen));
                                   })) < 1e-5);
      const auto both = run_op("MaxPool", {x}, attributes, {.outputs = 2});
      BOOST_TEST(difference<float>(both[0], c(*x, largest)) == 0);
      std::vector<float> pointed_at;
      for (const auto i : both[1].tensor().data<std::int64_t>())
        pointed_at.push_back(x->data<float>()[static_cast<std::size_t>(i)]);
      BOOST_TEST(difference<float>(both[0], pointed_at) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_index_counts_along_columns_if_asked_to) {
  const auto x = tensor::of<float>({1, 1, 2, 3}, {0, 1, 2, 5, 4, 3});
  const attribute_map a{{"kernel_shape", ints{2, 2}}, {"storage_order", std::int64_t{1}}};
  const auto y = run_op("MaxPool", {x}, a, {.outputs = 2});
  BOOST_TEST(y[1].tensor().data<std::int64_t>()[0] == 1);
  BOOST_TEST(y[1].tensor().data<std::int64_t>()[1] == 3);
}

BOOST_AUTO_TEST_CASE(small_integers_have_maxima_too) {
  const auto x = tensor::of<std::int8_t>({1, 1, 1, 4}, {-128, -3, -7, -9});
  const auto y = run_op("MaxPool", {x}, {{"kernel_shape", ints{1, 2}}})[0];
  BOOST_TEST(difference<std::int8_t>(y, std::vector<std::int8_t>{-3, -3, -7}) == 0);
}

BOOST_AUTO_TEST_CASE(a_kernel_far_beyond_the_image_is_no_burden) {
  const auto x = tensor::of<float>({1, 1, 3}, {1, 2, 3});
  const attribute_map a{
      {"kernel_shape", ints{1 << 29}}, {"pads", ints{1 << 29, 0}}, {"strides", ints{1 << 29}}};
  BOOST_TEST(run_op("MaxPool", {x}, a)[0].tensor().elements() == 1);
  BOOST_CHECK_THROW(run_op("MaxPool", {x}, {{"kernel_shape", ints{4}}}), error);
  BOOST_CHECK_THROW(run_op("MaxPool", {x}, {}), error);
}

BOOST_AUTO_TEST_CASE(global_pooling_sees_each_plane) {
  const auto x = uniform_numbers({2, 3, 7, 9}, 1);
  const plain_pool all{.n = 2, .channels = 3, .image = {7, 9}, .kernel = {7, 9}};
  const auto global_max = run_op("GlobalMaxPool", {x})[0];
  BOOST_TEST((global_max.tensor().shape() == shape{2, 3, 1, 1}));
  BOOST_TEST(difference<float>(global_max, all(*x, largest)) == 0);
  BOOST_TEST(difference<float>(run_op("GlobalAveragePool", {x})[0],
                               all(*x, [](const auto& seen, int) { return sum(seen) / 63; })) < 1e-6);
  BOOST_TEST(difference<float>(run_op("GlobalLpPool", {x})[0], all(*x, [](auto seen, int) {
                                 for (auto& e : seen)
                                   e *= e;
                                 return std::sqrt(sum(seen));
                               })) < 1e-6);
  BOOST_CHECK_THROW(run_op("GlobalMaxPool", {tensor::make(element_type::float32, {1, 2, 0, 3})}), error);
}

BOOST_AUTO_TEST_SUITE_END()
