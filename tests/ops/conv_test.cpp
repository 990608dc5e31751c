#include "random_tensor.hpp"
#include "run_op.hpp"

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

using ints = std::vector<std::int64_t>;

/// A convolution in two axes (one where h is 1 and the kernel, too), stated as plainly as can be.
struct plain_conv {
  std::int64_t n = 1, groups = 1, in = 1, out = 1; ///< channels of a group
  std::array<std::int64_t, 2> image{1, 1}, kernel{1, 1}, stride{1, 1}, dilation{1, 1}, begin{0, 0}, end{0, 0};

  [[nodiscard]] std::int64_t y_extent(std::size_t a) const {
    return (image[a] + begin[a] + end[a] - (kernel[a] - 1) * dilation[a] - 1) / stride[a] + 1;
  }
  [[nodiscard]] shape x_shape() const { return {n, groups * in, image[0], image[1]}; }
  [[nodiscard]] shape w_shape() const { return {groups * out, in, kernel[0], kernel[1]}; }

  template <class T>
  [[nodiscard]] std::vector<T> operator()(const tensor& x, const tensor& w, const tensor* bias) const {
    const auto at = [](const tensor& t, std::int64_t i) {
      return static_cast<double>(static_cast<float>(t.data<T>()[static_cast<std::size_t>(i)]));
    };
    std::vector<T> y;
    for (std::int64_t b = 0; b < n; ++b)
      for (std::int64_t o = 0; o < groups * out; ++o)
        for (std::int64_t r = 0; r < y_extent(0); ++r)
          for (std::int64_t c = 0; c < y_extent(1); ++c) {
            double sum = bias ? at(*bias, o) : 0;
            for (std::int64_t i = 0; i < in; ++i)
              for (std::int64_t p = 0; p < kernel[0]; ++p)
                for (std::int64_t q = 0; q < kernel[1]; ++q) {
                  const auto row = r * stride[0] + p * dilation[0] - begin[0];
                  const auto col = c * stride[1] + q * dilation[1] - begin[1];
                  if (row < 0 || col < 0 || row >= image[0] || col >= image[1])
                    continue;
                  const auto channel = o / out * in + i;
                  sum += at(x, ((b * groups * in + channel) * image[0] + row) * image[1] + col) *
                         at(w, ((o * in + i) * kernel[0] + p) * kernel[1] + q);
                }
            y.push_back(static_cast<T>(static_cast<float>(sum)));
          }
    return y;
  }

  [[nodiscard]] attribute_map attributes() const {
    return {{"group", groups},
            {"strides", ints{stride[0], stride[1]}},
            {"dilations", ints{dilation[0], dilation[1]}},
            {"pads", ints{begin[0], begin[1], end[0], end[1]}}};
  }
};

const plain_conv cases[] = {
    {.in = 3, .out = 5, .image = {9, 8}, .kernel = {3, 3}, .begin = {1, 1}, .end = {1, 1}},
    {.n = 2, .in = 16, .out = 32, .image = {14, 14}, .kernel = {3, 3}, .begin = {1, 1}, .end = {1, 1}},
    {.n = 2, .in = 17, .out = 33, .image = {14, 9}, .kernel = {3, 3}},
    {.n = 2, .in = 64, .out = 70, .image = {10, 10}},
    {.n = 2, .in = 7, .out = 12, .image = {2, 3}, .kernel = {2, 2}, .begin = {0, 1}, .end = {1, 0}},
    {.groups = 5, .image = {12, 40}, .kernel = {3, 3}, .begin = {1, 1}, .end = {1, 1}},
    {.n = 2,
     .groups = 32,
     .image = {11, 13},
     .kernel = {3, 3},
     .stride = {2, 2},
     .begin = {1, 1},
     .end = {1, 1}},
    {.groups = 4, .in = 2, .out = 3, .image = {9, 9}, .kernel = {3, 1}, .stride = {1, 2}},
    {.in = 2,
     .out = 2,
     .image = {20, 70},
     .kernel = {3, 5},
     .dilation = {2, 3},
     .begin = {4, 0},
     .end = {0, 6}},
    {.in = 3,
     .out = 8,
     .image = {40, 50},
     .kernel = {7, 7},
     .stride = {2, 3},
     .begin = {3, 3},
     .end = {3, 2}},
    {.in = 300, .out = 4, .image = {5, 70}, .kernel = {2, 2}},
    {.in = 1, .out = 40, .image = {1, 640}, .kernel = {1, 256}, .stride = {1, 128}},
    {.n = 2,
     .groups = 8,
     .in = 4,
     .out = 4,
     .image = {10, 12},
     .kernel = {3, 3},
     .begin = {1, 1},
     .end = {1, 1}},
    {.in = 2, .out = 2, .image = {3, 3}, .kernel = {1, 1}, .begin = {2, 2}, .end = {2, 2}},
};

template <class T>
void check_all(double tolerance) {
  for (const auto& c : cases)
    for (const auto constant : {false, true}) {
      const auto x = whole_numbers<T>(c.x_shape(), 1);
      const auto w = whole_numbers<T>(c.w_shape(), 2, -2, 2);
      const auto bias = whole_numbers<T>({c.groups * c.out}, 3);
      const run_options options{.constants =
                                    constant ? std::vector<std::size_t>{1, 2} : std::vector<std::size_t>{}};
      const auto y = run_op("Conv", {x, w, bias}, c.attributes(), options)[0];
      BOOST_TEST_CONTEXT(to_string(c.x_shape()) << " * " << to_string(c.w_shape())) {
        BOOST_TEST((y.tensor().shape() == shape{c.n, c.groups * c.out, c.y_extent(0), c.y_extent(1)}));
        BOOST_TEST(difference<T>(y, c.operator()<T>(*x, *w, bias.get())) <= tolerance);
        const auto without = run_op("Conv", {x, w}, c.attributes(), options)[0];
        BOOST_TEST(difference<T>(without, c.operator()<T>(*x, *w, nullptr)) <= tolerance);
      }
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(conv_test)

BOOST_AUTO_TEST_CASE(convolutions_of_every_geometry_are_what_the_sum_says) {
  check_all<float>(1e-5); // Winograd rounds
  check_all<double>(0);
}

BOOST_AUTO_TEST_CASE(small_floats_are_summed_as_floats) {
  const auto& c = cases[1];
  const auto x = whole_numbers<float16>(c.x_shape(), 1);
  const auto w = whole_numbers<float16>(c.w_shape(), 2, -2, 2);
  BOOST_TEST(difference<float16>(run_op("Conv", {x, w}, c.attributes())[0],
                                 c.operator()<float16>(*x, *w, nullptr)) == 0);
}

BOOST_AUTO_TEST_CASE(automatic_padding_keeps_the_extent) {
  const auto x = whole_numbers<float>({1, 1, 5, 6}, 1);
  const auto w = whole_numbers<float>({1, 1, 2, 2}, 2);
  for (const auto upper : {true, false}) {
    plain_conv c{.image = {5, 6}, .kernel = {2, 2}};
    (upper ? c.end : c.begin) = {1, 1};
    const auto y =
        run_op("Conv", {x, w}, {{"auto_pad", std::string{upper ? "SAME_UPPER" : "SAME_LOWER"}}})[0];
    BOOST_TEST(difference<float>(y, c.operator()<float>(*x, *w, nullptr)) == 0);
  }
}

BOOST_AUTO_TEST_CASE(nothing_in_gives_nothing_out) {
  const auto w = whole_numbers<float>({2, 3, 1, 1}, 2);
  BOOST_TEST(run_op("Conv", {tensor::make(element_type::float32, {0, 3, 4, 4}), w})[0].tensor().elements() ==
             0);
  const auto no_channels = run_op("Conv", {tensor::make(element_type::float32, {1, 0, 4, 4}),
                                           tensor::make(element_type::float32, {2, 0, 3, 3})})[0];
  BOOST_TEST(difference<float>(no_channels, std::vector<float>(8, 0.0f)) == 0);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_together_is_refused) {
  const value x = whole_numbers<float>({1, 4, 5, 5}, 1);
  const value w = whole_numbers<float>({2, 4, 3, 3}, 1);
  const auto refused = [](const std::vector<value>& inputs, attribute_map attributes) {
    try {
      static_cast<void>(run_op("Conv", inputs, std::move(attributes)));
    } catch (const error& e) {
      return std::string_view{e.what()}.find("'tested'") != std::string_view::npos;
    }
    return false;
  };
  const value too_large = whole_numbers<float>({2, 4, 6, 6}, 1);
  const value flat = whole_numbers<float>({2, 4, 3}, 1);
  const value doubles = whole_numbers<double>({2, 4, 3, 3}, 1);
  const value bias = whole_numbers<float>({3}, 1);
  BOOST_TEST(refused({x, too_large}, {}));
  BOOST_TEST(refused({x, flat}, {}));
  BOOST_TEST(refused({x, doubles}, {}));
  BOOST_TEST(refused({x, w, bias}, {}));
  BOOST_TEST(refused({x, w}, {{"group", std::int64_t{2}}}));
  BOOST_TEST(refused({x, w}, {{"group", std::int64_t{0}}}));
  BOOST_TEST(refused({x, w}, {{"strides", ints{0, 1}}}));
  BOOST_TEST(refused({x, w}, {{"strides", ints{1}}}));
  BOOST_TEST(refused({x, w}, {{"pads", ints{-1, 0, 0, 0}}}));
  BOOST_TEST(refused({x, w}, {{"dilations", ints{1, std::numeric_limits<std::int64_t>::max()}}}));
  BOOST_TEST(refused({x, w}, {{"kernel_shape", ints{3, 2}}}));
  BOOST_TEST(refused({x, w}, {{"auto_pad", std::string{"SOMETIMES"}}}));
  BOOST_TEST(refused({x, w}, {{"pads", ints{1 << 30, 1 << 30, 1 << 30, 1 << 30}}}));
}

BOOST_AUTO_TEST_CASE(unknown_extents_stay_unknown) {
  graph_builder g{standard_operators()->schemas()};
  const auto x = g.placeholder<float>("x", {"N", 3, dim{}, 10});
  const auto w = g.placeholder<float>("w", {8, 3, 3, 3});
  BOOST_TEST(to_string(g.type(g.op("Conv", {x, w}))) == "float32[N, 8, ?, 8]");
}

BOOST_AUTO_TEST_SUITE_END()
