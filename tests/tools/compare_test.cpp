#include <tools/conformance/compare.hpp>

#include <sluice/graph/collections.hpp>
#include <sluice/graph/tensor.hpp>

#include <boost/test/unit_test.hpp>

#include <complex>
#include <limits>

using namespace sluice;
using namespace sluice::tools;

namespace {

constexpr auto not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr auto infinity = std::numeric_limits<float>::infinity();

template <class T>
bool equal(T actual, T expected) {
  return !difference(tensor::of_scalar<T>(actual), tensor::of_scalar<T>(expected));
}

} // namespace

BOOST_AUTO_TEST_SUITE(comparison)

BOOST_AUTO_TEST_CASE(the_tolerance_is_relative_to_what_is_expected) {
  BOOST_TEST(equal(1000.9f, 1000.0f));
  BOOST_TEST(!equal(1001.1f, 1000.0f));
  BOOST_TEST(equal(0.9e-7f, 0.0f));
  BOOST_TEST(!equal(1.1e-7f, 0.0f));
  BOOST_TEST(equal(float16{1.0f}, float16{1.0f}));
  BOOST_TEST(!equal(bfloat16{1.0f}, bfloat16{1.01f}));
  BOOST_TEST(equal(std::complex<float>{1000.5f, 0}, std::complex<float>{1000, 0}));
  BOOST_TEST(!equal(std::complex<double>{1, 1}, std::complex<double>{1, -1}));
}

BOOST_AUTO_TEST_CASE(special_values_equal_themselves_only) {
  BOOST_TEST(equal(not_a_number, not_a_number));
  BOOST_TEST(!equal(not_a_number, 1.0f));
  BOOST_TEST(!equal(1.0f, not_a_number));
  BOOST_TEST(equal(infinity, infinity));
  BOOST_TEST(!equal(infinity, -infinity));
  BOOST_TEST(!equal(1.0f, infinity));
  BOOST_TEST(!equal(std::complex<float>{not_a_number, 0}, std::complex<float>{0, 0}));
}

BOOST_AUTO_TEST_CASE(integers_booleans_and_strings_are_exact) {
  BOOST_TEST(!equal<std::int64_t>(100'000, 100'001));
  BOOST_TEST(!equal(true, false));
  BOOST_TEST(equal<std::string>("a", "a"));
  BOOST_TEST(!equal<std::string>("a", "b"));
}

BOOST_AUTO_TEST_CASE(the_first_difference_is_named_and_all_are_counted) {
  const auto a = tensor::of<float>({2, 2}, {1, 2, 5, 6});
  const auto b = tensor::of<float>({2, 2}, {1, 2, 3, 4});
  BOOST_TEST(difference(a, b).value() == "element [1, 0] is 5, expected 3 (2 of 4 differ)");
}

BOOST_AUTO_TEST_CASE(types_and_shapes_must_agree) {
  const auto f = tensor::of<float>({1}, {1});
  BOOST_TEST(difference(f, tensor::of<double>({1}, {1})).value() == "float32[1], expected float64[1]");
  BOOST_TEST(difference(f, tensor::of_scalar(1.0f)).has_value());
  BOOST_TEST(difference(f, sequence::make({f})).has_value());
  BOOST_TEST(difference(value{}, f).has_value());
  BOOST_TEST(!difference(value{}, value{}));
}

BOOST_AUTO_TEST_CASE(collections_are_compared_item_by_item) {
  const value one = tensor::of_scalar(1.0f);
  const value two = tensor::of_scalar(2.0f);
  BOOST_TEST(!difference(sequence::make({one, two}), sequence::make({one, two})));
  BOOST_TEST(
      difference(sequence::make({one, one}), sequence::make({one, two})).value().starts_with("item 1: "));
  BOOST_TEST(difference(sequence::make({one}), sequence::make({one, two})).has_value());
  BOOST_TEST(!difference(optional_value::make({}), optional_value::make({})));
  BOOST_TEST(difference(optional_value::make({}), optional_value::make(one)).has_value());
  BOOST_TEST(!difference(dictionary::make({{"a", one}}), dictionary::make({{"a", one}})));
  BOOST_TEST(difference(dictionary::make({{"a", one}}), dictionary::make({{"b", one}})).value() ==
             "the key \"b\" is missing");
  BOOST_TEST(
      difference(dictionary::make({{"a", one}, {"b", one}}), dictionary::make({{"a", one}})).has_value());
  BOOST_TEST(difference(dictionary::make({{"a", one}}), dictionary::make({{"a", two}})).has_value());
}

BOOST_AUTO_TEST_CASE(random_results_are_compared_by_type) {
  BOOST_TEST(!type_difference(tensor::of_scalar(1.0f), tensor::of_scalar(2.0f)));
  BOOST_TEST(type_difference(tensor::of_scalar(1.0f), tensor::of_scalar(2.0)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
