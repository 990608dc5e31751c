#include <sluice/graph/tensor.hpp>
#include <sluice/ops/random.hpp>

#include "run_op.hpp"

#include <tests/support/elements.hpp>
#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

using namespace sluice;
using namespace sluice::test;
using test::run_op;

namespace {

constexpr auto infinity = std::numeric_limits<float>::infinity();
constexpr auto quiet_nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
value vec(std::initializer_list<T> x) {
  return tensor::of<T>({static_cast<std::int64_t>(x.size())}, x);
}

value floats(const shape& s, std::initializer_list<float> x) {
  return tensor::of<float>(s, x);
}

template <class T>
void check(const value& actual, const shape& s, std::initializer_list<T> expected, double tolerance = 0) {
  const auto x = actual.tensor().data<T>();
  BOOST_TEST(to_string(actual.tensor().shape()) == to_string(s));
  BOOST_REQUIRE(x.size() == expected.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto e = expected.begin()[i];
    if constexpr (std::is_floating_point_v<T>)
      BOOST_TEST(((std::isnan(x[i]) && std::isnan(e)) || x[i] == e || std::abs(x[i] - e) <= tolerance),
                 "element " << i << " is " << x[i] << ", not " << e);
    else
      BOOST_TEST(x[i] == e);
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(elementwise_test)

BOOST_AUTO_TEST_CASE(arrays_broadcast_as_in_numpy) {
  const auto add = [](const value& a, const value& b) { return run_op("Add", {a, b})[0]; };
  check<float>(add(counting({2, 3}), floats({3}, {10, 20, 30})), {2, 3}, {10, 21, 32, 13, 24, 35});
  check<float>(add(counting({2, 1}), counting({1, 3})), {2, 3}, {0, 1, 2, 1, 2, 3});
  check<float>(add(floats({}, {5}), counting({2, 2})), {2, 2}, {5, 6, 7, 8});
  check<float>(add(counting({2, 2}), floats({1, 1, 1}, {5})), {1, 2, 2}, {5, 6, 7, 8});
  check<float>(add(counting({2, 1, 2}), floats({2, 1}, {10, 20})), {2, 2, 2},
               {10, 11, 20, 21, 12, 13, 22, 23});
  check<float>(add(floats({0, 3}, {}), floats({1, 3}, {1, 2, 3})), {0, 3}, {});
  check<float>(add(floats({}, {1}), floats({}, {2})), {}, {3});
}

BOOST_AUTO_TEST_CASE(every_way_of_broadcasting_four_axes_agrees_with_indexing) {
  constexpr std::int64_t extents[] = {2, 3, 2, 5};
  for (unsigned mask = 0; mask < 256; ++mask) { // a bit for each axis of each array: extent or 1
    std::vector<std::int64_t> a(4), b(4);
    for (unsigned k = 0; k < 4; ++k) {
      a[k] = mask >> k & 1 ? extents[k] : 1;
      b[k] = mask >> (k + 4) & 1 ? extents[k] : 1;
    }
    const auto x = counting(shape{a});
    const auto y = run_op("Sub", {x, counting(shape{b})})[0];
    const auto& s = y.tensor().shape();
    std::size_t i = 0;
    for (std::int64_t p = 0; p < s[0]; ++p)
      for (std::int64_t q = 0; q < s[1]; ++q)
        for (std::int64_t r = 0; r < s[2]; ++r)
          for (std::int64_t t = 0; t < s[3]; ++t) {
            const auto at = [&](const std::vector<std::int64_t>& d) {
              return (((p % d[0]) * d[1] + q % d[1]) * d[2] + r % d[2]) * d[3] + t % d[3];
            };
            BOOST_REQUIRE(y.tensor().data<float>()[i++] == static_cast<float>(at(a) - at(b)));
          }
    BOOST_REQUIRE(i == y.tensor().data<float>().size());
  }
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_broadcast_are_refused_by_name) {
  BOOST_CHECK_EXCEPTION(static_cast<void>(run_op("Add", {counting({2, 3}), counting({2})})), error,
                        says(errc::invalid_graph, "Add 'tested': shapes [2, 3] and [2]"));
  BOOST_CHECK_EXCEPTION(static_cast<void>(run_op("Add", {counting({2}), vec<double>({1, 2})})), error,
                        says(errc::invalid_graph, "float32 and float64"));
}

BOOST_AUTO_TEST_CASE(before_opset_7_the_second_array_aligns_at_an_axis) {
  const attribute_map at_axis_0 = {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{0}}};
  check<float>(run_op("Add", {counting({2, 3}), floats({2}, {10, 20})}, at_axis_0, {.opset = 6})[0], {2, 3},
               {10, 11, 12, 23, 24, 25});
  const attribute_map at_the_end = {{"broadcast", std::int64_t{1}}};
  check<float>(run_op("Mul", {counting({2, 3}), floats({3}, {1, 2, 3})}, at_the_end, {.opset = 6})[0], {2, 3},
               {0, 2, 6, 3, 8, 15});
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(run_op("Add", {counting({2}), counting({2, 2})}, at_the_end, {.opset = 6})), error,
      says(errc::kernel_failed, "does not fit"));
}

BOOST_AUTO_TEST_CASE(integers_wrap_and_division_by_zero_is_an_error) {
  constexpr auto low = std::numeric_limits<std::int32_t>::min();
  constexpr auto high = std::numeric_limits<std::int32_t>::max();
  using ints = std::int32_t;
  check<ints>(run_op("Add", {vec<ints>({high, 1}), vec<ints>({1, 1})})[0], {2}, {low, 2});
  check<ints>(run_op("Mul", {vec<ints>({low, 3}), vec<ints>({-1, -4})})[0], {2}, {low, -12});
  check<ints>(run_op("Div", {vec<ints>({low, -7, 7}), vec<ints>({-1, 2, -2})})[0], {3}, {low, -3, -3});
  check<ints>(run_op("Mod", {vec<ints>({low, -7, 7}), vec<ints>({-1, 3, -3})})[0], {3}, {0, 2, -2});
  check<ints>(run_op("Mod", {vec<ints>({-7, 7}), vec<ints>({3, -3})}, {{"fmod", std::int64_t{1}}})[0], {2},
              {-1, 1});
  check<ints>(run_op("Neg", {vec<ints>({low, 5})})[0], {2}, {low, -5});
  check<ints>(run_op("Abs", {vec<ints>({low, -5})})[0], {2}, {low, 5});
  check<std::uint8_t>(run_op("Sub", {vec<std::uint8_t>({1}), vec<std::uint8_t>({2})})[0], {1}, {255});
  for (const auto* op : {"Div", "Mod"})
    BOOST_CHECK_EXCEPTION(static_cast<void>(run_op(op, {vec<ints>({1, 2}), vec<ints>({1, 0})})), error,
                          says(errc::kernel_failed, "divided by 0"));
  check<float>(run_op("Div", {vec<float>({1, -1, 0}), vec<float>({0, 0, 0})})[0], {3},
               {infinity, -infinity, quiet_nan});
}

BOOST_AUTO_TEST_CASE(a_shift_by_the_width_or_more_gives_zero) {
  const auto x = vec<std::uint8_t>({255, 255, 1});
  const auto by = vec<std::uint8_t>({8, 200, 7});
  check<std::uint8_t>(run_op("BitShift", {x, by}, {{"direction", std::string{"LEFT"}}})[0], {3}, {0, 0, 128});
  check<std::uint8_t>(run_op("BitShift", {x, by}, {{"direction", std::string{"RIGHT"}}})[0], {3}, {0, 0, 0});
}

BOOST_AUTO_TEST_CASE(power_takes_mixed_types) {
  using longs = std::int64_t;
  check<longs>(run_op("Pow", {vec<longs>({3, -2, 5, 0, -1}), vec<longs>({4, 3, -1, -2, -3})})[0], {5},
               {81, -8, 0, 0, -1});
  check<longs>(run_op("Pow", {vec<longs>({4, 9}), vec<float>({0.5f, 0.5f})})[0], {2}, {2, 3});
  check<float>(run_op("Pow", {vec<float>({2, 3}), vec<longs>({-1, 2})})[0], {2}, {0.5f, 9.0f}, 1e-6);
  check<float>(run_op("Pow", {vec<float>({-3, 4}), vec<float>({2})})[0], {2}, {9, 16});
  check<float>(run_op("Pow", {vec<float>({-infinity, 16, -0.0f}), vec<float>({0.5f})})[0], {3},
               {infinity, 4, 0});
}

BOOST_AUTO_TEST_CASE(nan_passes_through_what_selects) {
  const auto x = vec<float>({quiet_nan, 1, -1});
  check<float>(run_op("Relu", {x})[0], {3}, {quiet_nan, 1, 0});
  check<float>(run_op("Clip", {x, floats({}, {0}), floats({}, {0.5f})})[0], {3}, {quiet_nan, 0.5f, 0});
  check<float>(run_op("Max", {x, vec<float>({0, quiet_nan, 0})})[0], {3}, {quiet_nan, quiet_nan, 0});
  check<float>(run_op("Min", {x, vec<float>({0, quiet_nan, 0})})[0], {3}, {quiet_nan, quiet_nan, -1});
  check<bool>(run_op("IsNaN", {x})[0], {3}, {true, false, false});
  check<bool>(run_op("Equal", {x, x})[0], {3}, {false, true, true});
}

BOOST_AUTO_TEST_CASE(bounds_of_clip_may_be_left_out_or_cross) {
  const auto x = vec<float>({-5, 0, 5});
  check<float>(run_op("Clip", {x, value{}, floats({}, {1})})[0], {3}, {-5, 0, 1});
  check<float>(run_op("Clip", {x, floats({}, {2}), floats({}, {1})})[0], {3}, {1, 1, 1});
  check<float>(run_op("Clip", {x}, {{"min", -1.0f}}, {.opset = 6})[0], {3}, {-1, 0, 5});
  check<std::int8_t>(
      run_op("Clip", {vec<std::int8_t>({-5, 5}), value{}, tensor::of_scalar<std::int8_t>(3)})[0], {2},
      {-5, 3});
}

BOOST_AUTO_TEST_CASE(inputs_of_any_number_fold_with_broadcasting) {
  check<float>(run_op("Sum", {floats({}, {1}), counting({2}), counting({2, 1})})[0], {2, 2}, {1, 2, 2, 3});
  check<float>(run_op("Mean", {counting({2}), counting({2}), vec<float>({3, 7})})[0], {2}, {1, 3});
  check<float>(run_op("Max", {counting({3})})[0], {3}, {0, 1, 2});
  check<std::int64_t>(run_op("Min", {vec<std::int64_t>({1, 5}), vec<std::int64_t>({3})})[0], {2}, {1, 3});
}

BOOST_AUTO_TEST_CASE(where_selects_any_type) {
  const auto condition = tensor::of<bool>({2, 1}, {true, false});
  check<std::string>(run_op("Where", {condition, vec<std::string>({"a", "b"}), vec<std::string>({"c"})})[0],
                     {2, 2}, {"a", "b", "c", "c"});
  check<std::int64_t>(
      run_op("Where", {condition, tensor::of_scalar<std::int64_t>(1), vec<std::int64_t>({2, 3})})[0], {2, 2},
      {1, 1, 2, 3});
}

BOOST_AUTO_TEST_CASE(casts_cut_wrap_and_parse) {
  const auto cast = [](const value& x, element_type to) {
    return run_op("Cast", {x}, {{"to", static_cast<std::int64_t>(to)}})[0];
  };
  check<std::int32_t>(cast(vec<float>({-1.9f, 2.9f}), element_type::int32), {2}, {-1, 2});
  check<std::uint8_t>(cast(vec<float>({300.5f, -1.0f}), element_type::uint8), {2}, {44, 255});
  check<bool>(cast(vec<float>({0, quiet_nan, -0.5f}), element_type::boolean), {3}, {false, true, true});
  check<float>(cast(vec<std::string>({"-1.5e2", " inf", "NaN", "+7", "INF"}), element_type::float32), {5},
               {-150, infinity, quiet_nan, 7, infinity});
  check<std::int64_t>(cast(vec<std::string>({"9223372036854775807", "1e3"}), element_type::int64), {2},
                      {std::numeric_limits<std::int64_t>::max(), 1000});
  check<std::string>(cast(vec<float>({0.1f, -3, quiet_nan, -infinity}), element_type::string), {4},
                     {"0.1", "-3", "NaN", "-INF"});
  check<double>(cast(tensor::of<float16>({2}, {float16{0.5f}, float16{-2.0f}}), element_type::float64), {2},
                {0.5, -2});
  for (const auto* text : {"", "abc", "1.5x", "0x10"})
    BOOST_CHECK_EXCEPTION(static_cast<void>(cast(vec<std::string>({text}), element_type::float32)), error,
                          says(errc::kernel_failed, "is not a number"));
  BOOST_CHECK_EXCEPTION(static_cast<void>(run_op("Cast", {vec<float>({1})}, {{"to", std::int64_t{99}}})),
                        error, says(errc::unsupported, "number 99"));
}

BOOST_AUTO_TEST_CASE(a_cast_to_the_same_type_and_identity_share_their_input) {
  const auto x = counting({4});
  BOOST_TEST(run_op("Cast", {x}, {{"to", std::int64_t{1}}})[0].tensor().raw() == x.tensor().raw());
  BOOST_TEST(run_op("Identity", {x})[0].tensor().raw() == x.tensor().raw());
  BOOST_TEST(run_op("Dropout", {x})[0].tensor().raw() == x.tensor().raw());
}

BOOST_AUTO_TEST_CASE(small_floats_are_computed_as_floats) {
  const auto x = tensor::of<float16>({3}, {float16{1.5f}, float16{-2.0f}, float16{60000.0f}});
  const auto twice = run_op("Add", {x, x})[0];
  BOOST_TEST(static_cast<float>(twice.tensor().data<float16>()[0]) == 3.0f);
  BOOST_TEST(static_cast<float>(twice.tensor().data<float16>()[2]) == infinity);
  const auto positive = run_op("Relu", {x})[0];
  BOOST_TEST(static_cast<float>(positive.tensor().data<float16>()[1]) == 0.0f);
  auto large = tensor::make(element_type::bfloat16, {3, 1000});
  for (std::size_t i = 0; i < 3000; ++i)
    large->data<bfloat16>()[i] = bfloat16{static_cast<float>(i % 64)};
  const auto sum = run_op("Sub", {tensor::of<bfloat16>({1}, {bfloat16{1.0f}}), value{large}})[0];
  for (std::size_t i = 0; i < 3000; ++i)
    BOOST_REQUIRE(static_cast<float>(sum.tensor().data<bfloat16>()[i]) == 1.0f - static_cast<float>(i % 64));
}

BOOST_AUTO_TEST_CASE(ranges_have_the_length_that_their_step_gives) {
  const auto range = [](auto start, auto limit, auto delta) {
    return run_op("Range", {tensor::of_scalar(start), tensor::of_scalar(limit), tensor::of_scalar(delta)})[0];
  };
  using longs = std::int64_t;
  check<longs>(range(longs{10}, longs{4}, longs{-3}), {2}, {10, 7});
  check<longs>(range(longs{1}, longs{1}, longs{1}), {0}, {});
  check<float>(range(1.0f, 2.1f, 0.5f), {3}, {1, 1.5f, 2});
  BOOST_CHECK_EXCEPTION(static_cast<void>(range(longs{0}, longs{5}, longs{0})), error,
                        says(errc::invalid_graph, "has no end"));
  BOOST_CHECK_EXCEPTION(static_cast<void>(range(0.0f, quiet_nan, 1.0f)), error,
                        says(errc::kernel_failed, "has no end"));
}

BOOST_AUTO_TEST_CASE(constants_of_a_shape_refuse_impossible_ones) {
  check<std::int64_t>(run_op("ConstantOfShape", {vec<std::int64_t>({2, 2})},
                             {{"value", attribute{value{tensor::of<std::int64_t>({1}, {7})}}}})[0],
                      {2, 2}, {7, 7, 7, 7});
  check<float>(run_op("ConstantOfShape", {vec<std::int64_t>({})})[0], {}, {0});
  for (const auto extent : {std::int64_t{-1}, std::int64_t{1} << 62})
    BOOST_CHECK_THROW(static_cast<void>(run_op("ConstantOfShape", {vec<std::int64_t>({extent, 8})})), error);
}

BOOST_AUTO_TEST_CASE(a_diagonal_may_lie_anywhere_even_outside) {
  const auto eye = [](const shape& s, std::int64_t k) {
    return run_op("EyeLike", {counting(s)}, {{"k", k}})[0];
  };
  check<float>(eye({2, 3}, 1), {2, 3}, {0, 1, 0, 0, 0, 1});
  check<float>(eye({2, 2}, -1), {2, 2}, {0, 0, 1, 0});
  check<float>(eye({1, 2}, std::numeric_limits<std::int64_t>::min()), {1, 2}, {0, 0});
  check<float>(eye({1, 2}, std::numeric_limits<std::int64_t>::max()), {1, 2}, {0, 0});
}

BOOST_AUTO_TEST_CASE(quantisation_rounds_halves_to_even_and_saturates) {
  using bytes = std::uint8_t;
  const auto x = floats({2, 3}, {0, 2.5f, 3.5f, 1000, -1000, quiet_nan});
  check<bytes>(run_op("QuantizeLinear", {x, tensor::of_scalar(1.0f), tensor::of_scalar(bytes{10})})[0],
               {2, 3}, {10, 12, 14, 255, 0, 0});
  check<std::int8_t>(run_op("QuantizeLinear", {x, vec<float>({1, 2}), vec<std::int8_t>({0, 1})},
                            {{"axis", std::int64_t{0}}})[0],
                     {2, 3}, {0, 2, 4, 127, -128, 0});
  check<float>(run_op("DequantizeLinear", {tensor::of<bytes>({2, 2}, {0, 128, 255, 4}), vec<float>({1, 0.5f}),
                                           vec<bytes>({128, 0})})[0],
               {2, 2}, {-128, 64, 127, 2});
  check<float>(run_op("DequantizeLinear",
                      {tensor::of<std::int8_t>({1, 4}, {1, 2, 3, 4}), floats({1, 2}, {1, 10})},
                      {{"axis", std::int64_t{1}}, {"block_size", std::int64_t{2}}}, {.opset = 21})[0],
               {1, 4}, {1, 2, 30, 40});
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(run_op("QuantizeLinear", {x, vec<float>({1, 2, 3}), vec<bytes>({1, 2, 3})},
                               {{"axis", std::int64_t{0}}})),
      error, says(errc::kernel_failed, "do not fit"));
}

BOOST_AUTO_TEST_CASE(quantised_tensors_are_combined_as_numbers) {
  using bytes = std::uint8_t;
  const auto scale = [](float x) -> value { return tensor::of_scalar(x); };
  const auto zero = [](bytes x) -> value { return tensor::of_scalar(x); };
  const auto a = tensor::of<bytes>({2, 3}, {0, 100, 200, 255, 7, 128});
  const auto b = vec<bytes>({10, 250, 128});
  const auto run = [](const std::string& op, const std::vector<value>& inputs) {
    return run_op(op, inputs, {}, {.domain = "com.microsoft"})[0];
  };
  check<bytes>(
      run("QLinearAdd", {a, scale(0.5f), zero(100), b, scale(0.25f), zero(128), scale(0.75f), zero(90)}),
      {2, 3}, {0, 131, 157, 154, 69, 109});
  check<bytes>(run("QLinearMul", {a, scale(0.5f), zero(100), b, scale(0.25f), zero(128), scale(9), zero(90)}),
               {2, 3}, {254, 90, 90, 0, 0, 90});
  check<bytes>(run("QLinearSigmoid", {a, scale(0.05f), zero(100), scale(1 / 256.0f), zero(0)}), {2, 3},
               {2, 128, 254, 255, 2, 205});
  auto map = tensor::make(element_type::uint8, {2, 2, 3, 3});
  for (std::size_t i = 0; i < 36; ++i)
    map->data<bytes>()[i] = static_cast<bytes>(i * 5);
  check<bytes>(run("QLinearGlobalAveragePool", {map, scale(0.5f), zero(10), scale(0.4f), zero(3)}),
               {2, 2, 1, 1}, {15, 72, 128, 184});
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_numbers_that_numpy_gives) {
  ops::random_stream uniforms{42};
  for (const auto expected : {0.3745401188473625, 0.9507143064099162, 0.7319939418114051})
    BOOST_TEST(uniforms.uniform() == expected);
  ops::random_stream normals{42};
  for (const auto expected : {0.4967141530112327, -0.13826430117118466, 0.6476885381006925})
    BOOST_TEST(normals.normal() == expected, boost::test_tools::tolerance(1e-14));
}

BOOST_AUTO_TEST_CASE(random_operators_repeat_with_a_seed_and_stay_in_range) {
  const auto draw = [](float seed) {
    return run_op(
        "RandomUniform", {},
        {{"shape", std::vector<std::int64_t>{1000}}, {"low", -1.0f}, {"high", 3.0f}, {"seed", seed}})[0];
  };
  const auto numbers = [](const value& v) {
    const auto x = v.tensor().data<float>();
    return std::vector<float>{x.begin(), x.end()};
  };
  const auto x = numbers(draw(1));
  BOOST_TEST((x == numbers(draw(1))));
  BOOST_TEST((x != numbers(draw(2))));
  BOOST_TEST(std::all_of(x.begin(), x.end(), [](float v) { return v >= -1 && v < 3; }));
  const auto classes = run_op("Multinomial", {floats({1, 3}, {-infinity, 0, -infinity})},
                              {{"sample_size", std::int64_t{5}}})[0];
  check<std::int32_t>(classes, {1, 5}, {1, 1, 1, 1, 1});
}

BOOST_AUTO_TEST_CASE(dropout_in_training_scales_what_it_keeps) {
  auto x = tensor::make(element_type::float32, {10'000});
  for (auto& e : x->data<float>())
    e = 1;
  const auto y = run_op("Dropout", {x, floats({}, {0.75f}), tensor::of_scalar(true)}, {}, {.outputs = 2});
  std::size_t kept = 0;
  for (std::size_t i = 0; i < 10'000; ++i) {
    const bool mask = y[1].tensor().data<bool>()[i];
    BOOST_REQUIRE(y[0].tensor().data<float>()[i] == (mask ? 4.0f : 0.0f));
    kept += mask;
  }
  BOOST_TEST((kept > 2200 && kept < 2800));
}

BOOST_AUTO_TEST_CASE(words_are_dropped_and_their_case_is_changed) {
  const auto words = vec<std::string>({"Ärger", "the", "THE", "naïve"});
  check<std::string>(run_op("StringNormalizer", {words},
                            {{"case_change_action", std::string{"UPPER"}},
                             {"stopwords", std::vector<std::string>{"The"}}})[0],
                     {2}, {"ÄRGER", "NAÏVE"});
  check<std::string>(run_op("StringNormalizer", {vec<std::string>({"\xff\xc3"})},
                            {{"case_change_action", std::string{"LOWER"}}})[0],
                     {1}, {"\xff\xc3"});
}

BOOST_AUTO_TEST_CASE(ngram_pools_that_do_not_fit_are_refused) {
  attribute_map a = {{"mode", std::string{"TF"}},
                     {"min_gram_length", std::int64_t{1}},
                     {"max_gram_length", std::int64_t{2}},
                     {"max_skip_count", std::int64_t{0}},
                     {"ngram_counts", std::vector<std::int64_t>{0, 1}},
                     {"ngram_indexes", std::vector<std::int64_t>{1, 0}},
                     {"pool_int64s", std::vector<std::int64_t>{5, 5, 6}}};
  check<float>(run_op("TfIdfVectorizer", {vec<std::int64_t>({5, 6, 5, 5, 6})}, a)[0], {2}, {2, 3});
  a.set("ngram_counts", std::vector<std::int64_t>{0, 2});
  BOOST_CHECK_EXCEPTION(static_cast<void>(run_op("TfIdfVectorizer", {vec<std::int64_t>({5})}, a)), error,
                        says(errc::invalid_graph, "does not cut the pool"));
}

BOOST_AUTO_TEST_SUITE_END()
