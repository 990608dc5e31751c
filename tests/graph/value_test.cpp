#include <sluice/graph/collections.hpp>
#include <sluice/graph/tensor.hpp>
#include <sluice/graph/value_type.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>

using namespace sluice;

namespace {

bool refused(const error& e) {
  return e.code() == errc::invalid_argument;
}

const value numbers = tensor::of<float>({2}, {1, 2});
const value word = tensor::of<std::string>({1}, {std::string{"w"}});

struct image {
  int width;
  std::shared_ptr<int> pixels;
};

} // namespace

BOOST_AUTO_TEST_SUITE(values)

BOOST_AUTO_TEST_CASE(a_value_says_what_it_holds) {
  BOOST_TEST(describe(value{}) == "empty");
  BOOST_TEST(describe(numbers) == "float32[2]");
  BOOST_TEST(describe(sequence::make({numbers, word})) == "sequence of 2");
  BOOST_TEST(describe(dictionary::make({{std::int64_t{1}, word}})) == "map of 1");
  BOOST_TEST(describe(optional_value::make({})) == "optional empty");
  BOOST_TEST(describe(value::make_object<int>(3)) == "object int");
}

BOOST_AUTO_TEST_CASE(asking_for_something_else_is_an_error) {
  BOOST_CHECK_EXCEPTION((void)value{}.tensor(), error, refused);
  BOOST_CHECK_EXCEPTION((void)numbers.sequence(), error, refused);
  BOOST_CHECK_EXCEPTION((void)numbers.map(), error, refused);
  BOOST_CHECK_EXCEPTION((void)numbers.optional(), error, refused);
  BOOST_CHECK_EXCEPTION((void)numbers.object<int>(), error, refused);
  BOOST_CHECK_EXCEPTION((void)value::make_object<int>(3).object<long>(), error, refused);
  BOOST_CHECK_EXCEPTION((void)numbers.scalar<float>(), error, refused); // two elements
  BOOST_TEST(word.scalar<std::string>() == "w");
}

BOOST_AUTO_TEST_CASE(copies_share_and_the_last_one_destroys) {
  auto pixels = std::make_shared<int>(1);
  auto a = value::make_object<image>(image{640, pixels});
  BOOST_TEST(a.unique());
  auto b = a;
  BOOST_TEST(!a.unique());
  BOOST_TEST(b.object<image>().width == 640);
  BOOST_TEST(a.body() == b.body());
  a.reset();
  BOOST_TEST(pixels.use_count() == 2);
  b.reset();
  BOOST_TEST(pixels.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(value_types)

BOOST_AUTO_TEST_CASE(the_type_of_a_value_is_exact) {
  const auto type = [](const value& v) { return to_string(value_type::of(v)); };
  BOOST_TEST(type({}) == "unknown");
  BOOST_TEST(type(numbers) == "float32[2]");
  BOOST_TEST(type(sequence::make({word})) == "sequence of string[1]");
  BOOST_TEST(type(sequence::make({})) == "sequence of unknown");
  BOOST_TEST(type(optional_value::make(numbers)) == "optional float32[2]");
  BOOST_TEST(type(dictionary::make({{std::string{"k"}, numbers}})) == "map from string to float32[2]");
  BOOST_TEST(type(value::make_object<int>(1)) == "object int");
}

BOOST_AUTO_TEST_CASE(a_type_admits_what_does_not_contradict_it) {
  const value_type rows{element_type::float32, {"N"}};
  BOOST_TEST(value_type{}.admits(numbers));
  BOOST_TEST(rows.admits(numbers));
  BOOST_TEST(!rows.admits(word));
  BOOST_TEST(!rows.admits({}));
  BOOST_TEST(!rows.admits(sequence::make({numbers})));
  BOOST_TEST((value_type{element_type::undefined, {2}}.admits(numbers)));
  BOOST_TEST(!(value_type{element_type::float32, {3}}.admits(numbers)));
  BOOST_TEST(value_type::sequence_of(rows).admits(sequence::make({numbers, numbers})));
  BOOST_TEST(value_type::sequence_of(rows).admits(sequence::make({})));
  BOOST_TEST(!value_type::sequence_of(rows).admits(sequence::make({numbers, word})));
  BOOST_TEST(value_type::optional_of(rows).admits(optional_value::make({})));
  BOOST_TEST(!value_type::optional_of(rows).admits(optional_value::make(word)));
  const auto map = value_type::map_of(element_type::int64, rows);
  BOOST_TEST(map.admits(dictionary::make({{std::int64_t{1}, numbers}})));
  BOOST_TEST(!map.admits(dictionary::make({{std::string{"1"}, numbers}})));
  BOOST_TEST(value_type::object_of<int>().admits(value::make_object<int>(1)));
  BOOST_TEST(!value_type::object_of<int>().admits(value::make_object<char>('a')));
}

BOOST_AUTO_TEST_CASE(merging_types_keeps_what_either_knows_or_finds_the_contradiction) {
  const auto merged = [](const value_type& a, const value_type& b) {
    const auto m = a.merged(b);
    return m ? to_string(*m) : "contradiction";
  };
  const value_type rows{element_type::float32, {"N", 3}};
  BOOST_TEST(merged({}, rows) == "float32[N, 3]");
  BOOST_TEST(merged(rows, {}) == "float32[N, 3]");
  BOOST_TEST(merged({element_type::undefined, {2, dim{}}}, rows) == "float32[2, 3]");
  BOOST_TEST(merged({element_type::int64, {}}, rows) == "contradiction");
  BOOST_TEST(merged(value_type::sequence_of({}), value_type::sequence_of(rows)) ==
             "sequence of float32[N, 3]");
  BOOST_TEST(merged(value_type::sequence_of(rows), rows) == "contradiction");
  BOOST_TEST(merged(value_type::object_of<int>(), value_type::object_of<long>()) == "contradiction");
}

BOOST_AUTO_TEST_CASE(bytes_are_known_only_of_concrete_tensors) {
  BOOST_TEST((value_type{element_type::float32, {2, 3}}.bytes().value()) == 24u);
  BOOST_TEST((value_type{element_type::float32, {2, "N"}}.bytes().has_value()) == false);
  BOOST_TEST((value_type{element_type::undefined, {2}}.bytes().has_value()) == false);
  BOOST_TEST(value_type::sequence_of({}).bytes().has_value() == false);
}

BOOST_AUTO_TEST_SUITE_END()
