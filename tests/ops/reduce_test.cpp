#include "random_tensor.hpp"
#include "run_kernel.hpp"
#include "run_op.hpp"

#include <tests/support/elements.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

using namespace sluice;
using namespace sluice::test;

namespace {

using integers = std::vector<std::int64_t>;

constexpr auto infinity = std::numeric_limits<float>::infinity();
constexpr auto not_a_number = std::numeric_limits<float>::quiet_NaN();

value list(const integers& elements) {
  return tensor::of<std::int64_t>({static_cast<std::int64_t>(elements.size())}, std::span{elements});
}

attribute_map over(const integers& axes) {
  return {{"axes", axes}};
}

/// Adds up f of the elements, in double and one by one; axes as a mask.
std::vector<double> sums(const tensor& t, const integers& axes, const std::function<double(double)>& f) {
  auto kept = t.shape();
  for (const auto axis : axes)
    kept = kept.with(static_cast<std::size_t>(axis), 1);
  std::vector<double> result(static_cast<std::size_t>(kept.elements()));
  const auto in = t.data<float>();
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto rest = i;
    std::size_t at = 0;
    std::size_t stride = 1;
    for (auto axis = t.shape().rank(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(t.shape()[axis]);
      if (kept[axis] != 1 || extent == 1) {
        at += rest % extent * stride;
        stride *= extent;
      }
      rest /= extent;
    }
    result[at] += f(static_cast<double>(in[i]));
  }
  return result;
}

float worst_error(const value& actual, const std::vector<double>& expected) {
  const auto a = actual.tensor().data<float>();
  BOOST_REQUIRE(a.size() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - expected[i]) /
                                std::max(1.0, std::abs(expected[i])));
  return static_cast<float>(worst);
}

bool same_bits(const value& a, const value& b) {
  return a.tensor().bytes() == b.tensor().bytes() &&
         std::memcmp(a.tensor().raw(), b.tensor().raw(), a.tensor().bytes()) == 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(reduce_test)

BOOST_AUTO_TEST_CASE(sums_agree_with_double_precision_over_any_axes) {
  struct example {
    shape s;
    integers axes;
  };
  for (const auto& e : {example{{7, 5, 6}, {0}},
                        {{7, 5, 6}, {1}},
                        {{7, 5, 6}, {2}},
                        {{7, 5, 6}, {0, 2}},
                        {{7, 5, 6}, {0, 1}},
                        {{7, 5, 6}, {1, 2}},
                        {{7, 5, 6}, {0, 1, 2}},
                        {{3, 4, 5, 6, 7}, {1, 3}},
                        {{3, 4, 5, 6, 7}, {0, 2, 4}},
                        {{100'000}, {0}},
                        {{3, 50'000}, {1}},
                        {{50'000, 3}, {0}},
                        {{700, 700}, {0}},
                        {{1, 1, 1}, {1}},
                        {{4, 1, 5}, {1}}}) {
    const auto& axes = e.axes;
    const value x = uniform_numbers(e.s, 1);
    const auto exact = sums(x.tensor(), axes, [](double v) { return v; });
    const auto squares = sums(x.tensor(), axes, [](double v) { return v * v; });
    const auto exponentials = sums(x.tensor(), axes, [](double v) { return std::exp(v); });
    const auto magnitudes = sums(x.tensor(), axes, [](double v) { return std::abs(v); });
    const auto map = [](std::vector<double> v, auto f) {
      std::transform(v.begin(), v.end(), v.begin(), f);
      return v;
    };
    const auto count = static_cast<double>(x.tensor().elements()) / static_cast<double>(exact.size());
    const auto reduced = [&](const char* op) { return run_op(op, {x}, over(axes), {.opset = 12})[0]; };
    BOOST_TEST_CONTEXT("shape " << to_string(e.s)) {
      BOOST_TEST(worst_error(reduced("ReduceSum"), exact) < 2e-5f);
      BOOST_TEST(worst_error(reduced("ReduceMean"), map(exact, [&](double v) { return v / count; })) < 1e-6f);
      BOOST_TEST(worst_error(reduced("ReduceL1"), magnitudes) < 1e-6f);
      BOOST_TEST(worst_error(reduced("ReduceSumSquare"), squares) < 1e-6f);
      BOOST_TEST(worst_error(reduced("ReduceL2"), map(squares, [](double v) { return std::sqrt(v); })) <
                 1e-6f);
      BOOST_TEST(worst_error(reduced("ReduceLogSumExp"),
                             map(exponentials, [](double v) { return std::log(v); })) < 2e-6f);
    }
  }
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_the_number_of_threads) {
  struct example {
    const char* op;
    shape s;
    attribute_map attributes;
  };
  for (const auto& e : {example{"ReduceSum", {300'000}, {}},
                        {"ReduceMean", {3, 90'000}, over({1})},
                        {"ReduceL2", {90'000, 3}, over({0})},
                        {"ReduceLogSumExp", {40, 60, 70}, over({0, 2})},
                        {"ReduceProd", {2000, 700}, over({0})},
                        {"Softmax", {400, 300}, {}},
                        {"LogSoftmax", {20, 30, 500}, {{"axis", std::int64_t{1}}}},
                        {"ArgMax", {50, 70, 90}, {{"axis", std::int64_t{1}}}}}) {
    backward_worker threads;
    const value x = uniform_numbers(e.s, 2);
    const auto opset = std::string{e.op} == "ReduceSum" ? 12 : 13;
    const auto alone = run_kernel(e.op, {x}, e.attributes, nullptr, opset);
    const auto together = run_kernel(e.op, {x}, e.attributes, &threads, opset);
    BOOST_TEST_CONTEXT(e.op) {
      BOOST_TEST(threads.chunks > 1u);
      BOOST_TEST(same_bits(alone[0], together[0]));
    }
  }
}

BOOST_AUTO_TEST_CASE(reducing_nothing_gives_the_neutral_element) {
  const value nothing = tensor::make(element_type::float32, {2, 0});
  const auto of = [&](const char* op) {
    return floats(run_op(op, {nothing}, over({1}), {.opset = 12})[0])[0];
  };
  BOOST_TEST(of("ReduceSum") == 0);
  BOOST_TEST(of("ReduceProd") == 1);
  BOOST_TEST(of("ReduceMax") == -infinity);
  BOOST_TEST(of("ReduceMin") == infinity);
  BOOST_TEST(of("ReduceLogSumExp") == -infinity);
  BOOST_TEST(std::isnan(of("ReduceMean")));
  BOOST_CHECK_THROW(static_cast<void>(run_op("ArgMax", {nothing}, {{"axis", std::int64_t{1}}})), error);
}

BOOST_AUTO_TEST_CASE(axes_come_as_attribute_or_input_and_are_checked) {
  const value x = tensor::of<float>({2, 2}, {1, 2, 3, 4});
  BOOST_TEST(floats(run_op("ReduceSum", {x, list({-1})})[0]) == (std::vector<float>{3, 7}),
             boost::test_tools::per_element());
  BOOST_TEST(floats(run_op("ReduceMax", {x, list({0})}, {{"keepdims", std::int64_t{0}}}, {.opset = 18})[0]) ==
                 (std::vector<float>{3, 4}),
             boost::test_tools::per_element());
  const auto kept = run_op("ReduceSum", {x, list({})}, {{"noop_with_empty_axes", std::int64_t{1}}})[0];
  BOOST_TEST(kept.tensor().raw() == x.tensor().raw());
  BOOST_TEST(run_op("ReduceSum", {x, list({})}, {{"keepdims", std::int64_t{0}}})[0].scalar<float>() == 10);
  BOOST_CHECK_THROW(static_cast<void>(run_op("ReduceSum", {x, list({2})})), error);
  BOOST_CHECK_THROW(static_cast<void>(run_op("ReduceMean", {x}, over({-3}))), error);
}

BOOST_AUTO_TEST_CASE(integers_wrap_and_small_floats_are_summed_as_floats) {
  const value bytes = tensor::of<std::int32_t>({3}, {std::numeric_limits<std::int32_t>::max(), 1, 5});
  BOOST_TEST(run_op("ReduceSum", {bytes}, {{"keepdims", std::int64_t{0}}})[0].scalar<std::int32_t>() ==
             std::numeric_limits<std::int32_t>::min() + 5);
  BOOST_TEST(
      run_op("ReduceMin", {tensor::of<std::int8_t>({3}, {3, -7, 5})}, {{"keepdims", std::int64_t{0}}})[0]
          .scalar<std::int8_t>() == -7);
  const value halves = whole_numbers<float16>({4096}, 3, 1, 1);
  BOOST_TEST(static_cast<float>(
                 run_op("ReduceSum", {halves}, {{"keepdims", std::int64_t{0}}})[0].scalar<float16>()) ==
             4096);
}

BOOST_AUTO_TEST_CASE(the_first_or_last_of_equal_extremes_is_found) {
  const value x = tensor::of<float>({2, 4}, {1, 3, 3, 0, -infinity, -infinity, -infinity, -infinity});
  const auto places = [&](const char* op, std::int64_t last) {
    const auto out = run_op(op, {x}, {{"axis", std::int64_t{1}}, {"select_last_index", last}});
    const auto data = out[0].tensor().data<std::int64_t>();
    return integers{data.begin(), data.end()};
  };
  BOOST_TEST(places("ArgMax", 0) == (integers{1, 0}), boost::test_tools::per_element());
  BOOST_TEST(places("ArgMax", 1) == (integers{2, 3}), boost::test_tools::per_element());
  BOOST_TEST(places("ArgMin", 0) == (integers{3, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_largest_come_first_and_the_number_of_them_is_checked) {
  const value x = tensor::of<float>({1, 5}, {1, 4, not_a_number, 4, 2});
  const auto top = run_op("TopK", {x, list({4})}, {}, {.outputs = 2});
  const auto places = top[1].tensor().data<std::int64_t>();
  BOOST_TEST((integers{places.begin(), places.end()}) == (integers{2, 1, 3, 4}),
             boost::test_tools::per_element());
  for (const auto& k : {integers{6}, integers{-1}, integers{1, 1}, integers{}})
    BOOST_CHECK_THROW(static_cast<void>(run_op("TopK", {x, list(k)}, {}, {.outputs = 2})), error);
}

BOOST_AUTO_TEST_CASE(sums_run_forwards_backwards_inclusive_and_exclusive) {
  const value x = tensor::of<float>({3}, {1, 2, 3});
  const auto run = [&](std::int64_t exclusive, std::int64_t reverse) {
    return floats(run_op("CumSum", {x, list({0})}, {{"exclusive", exclusive}, {"reverse", reverse}})[0]);
  };
  BOOST_TEST(run(0, 0) == (std::vector<float>{1, 3, 6}), boost::test_tools::per_element());
  BOOST_TEST(run(1, 0) == (std::vector<float>{0, 1, 3}), boost::test_tools::per_element());
  BOOST_TEST(run(0, 1) == (std::vector<float>{6, 5, 3}), boost::test_tools::per_element());
  BOOST_TEST(run(1, 1) == (std::vector<float>{5, 3, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(softmax_survives_large_numbers_and_flattens_before_opset_13) {
  const value x = tensor::of<float>({1, 2, 2}, {1000, 1001, -infinity, 1000});
  const auto last = floats(run_op("Softmax", {x})[0]);
  BOOST_TEST(std::abs(last[0] - 0.26894142f) < 1e-6f);
  BOOST_TEST(last[2] == 0);
  BOOST_TEST(last[3] == 1);
  const auto all = floats(run_op("Softmax", {x}, {}, {.opset = 12})[0]);
  BOOST_TEST(std::abs(all[0] - 0.21194156f) < 1e-6f);
  const auto logarithm = floats(run_op("LogSoftmax", {x}, {{"axis", std::int64_t{1}}})[0]);
  BOOST_TEST(logarithm[0] == 0);
  BOOST_TEST(logarithm[2] == -infinity);
  BOOST_TEST(std::abs(logarithm[1] + 0.31326169f) < 1e-6f);
}

BOOST_AUTO_TEST_CASE(softmax_over_any_axis_is_that_of_the_transposed_tensor) {
  const value x = uniform_numbers({5, 7, 300}, 4);
  const integers swapped = {0, 2, 1};
  for (const auto* op : {"Softmax", "LogSoftmax"}) {
    const auto direct = run_op(op, {x}, {{"axis", std::int64_t{1}}})[0];
    const auto turned = run_op("Transpose", {x}, {{"perm", swapped}})[0];
    const auto back = run_op("Transpose", {run_op(op, {turned})[0]}, {{"perm", swapped}})[0];
    BOOST_TEST(difference(direct, floats(back)) < 1e-6);
  }
}

BOOST_AUTO_TEST_SUITE_END()
