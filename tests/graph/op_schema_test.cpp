#include <sluice/graph/op_schema.hpp>
#include <sluice/graph/tensor.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <array>

using namespace sluice;
using namespace sluice::test;

BOOST_AUTO_TEST_SUITE(op_schemas)

BOOST_AUTO_TEST_CASE(the_newest_version_that_is_not_newer_than_the_opset_holds) {
  op_registry r;
  r.add({.name = "Pad", .since_opset = 2, .infer = {}});
  r.add({.name = "Pad", .since_opset = 11, .infer = {}});
  BOOST_TEST(r.find("", "Pad", 1) == nullptr);
  BOOST_TEST(r.find("", "Pad", 2)->since_opset == 2);
  BOOST_TEST(r.find("", "Pad", 10)->since_opset == 2);
  BOOST_TEST(r.find("", "Pad", 11)->since_opset == 11);
  BOOST_TEST(r.find("", "Pad", 99)->since_opset == 11);
  BOOST_TEST(r.find("other", "Pad", 11) == nullptr);
  BOOST_TEST(r.knows("", "Pad"));
  BOOST_TEST(!r.knows("other", "Pad"));
}

BOOST_AUTO_TEST_CASE(the_same_version_twice_is_an_error) {
  op_registry r;
  r.add({.name = "Relu", .infer = {}});
  BOOST_CHECK_EXCEPTION(r.add({.name = "Relu", .infer = {}}), error, says(errc::invalid_argument, "Relu"));
  r.add({.name = "Relu", .infer = {}, .domain = "other"});
  BOOST_TEST(r.all().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_view_gives_integers_of_constants_and_knows_what_is_left_out) {
  const attribute_map attributes;
  const value_type type{element_type::int64, {2}};
  const std::array<const value_type*, 3> types{&type, nullptr, &type};
  const std::array<value, 3> constants{tensor::of<std::int64_t>({2}, {4, -1}), value{},
                                       tensor::of<std::int32_t>({1}, {7})};
  const op_view op{attributes, 13, types, constants, 1};
  BOOST_TEST(op.input_count() == 3u);
  BOOST_TEST(op.has_input(0));
  BOOST_TEST(!op.has_input(1));
  BOOST_TEST(!op.has_input(3));
  for (const auto missing : {std::size_t{1}, std::size_t{3}})
    BOOST_CHECK_EXCEPTION((void)op.shape(missing), error, says(errc::invalid_graph, "left out"));
  BOOST_TEST((*op.constant_integers(0) == std::vector<std::int64_t>{4, -1}));
  BOOST_TEST((*op.constant_integers(2) == std::vector<std::int64_t>{7}));
  BOOST_TEST(!op.constant_integers(1).has_value());
  BOOST_TEST(!op.constant_integers(9).has_value());
}

BOOST_AUTO_TEST_CASE(attributes_have_one_type_and_a_default) {
  const attribute_map a{{"axis", std::int64_t{2}}, {"mode", std::string{"edge"}}};
  BOOST_TEST(a.get<std::int64_t>("axis") == 2);
  BOOST_TEST(a.get<std::int64_t>("other", 5) == 5);
  BOOST_TEST(a.find<float>("other") == nullptr);
  BOOST_CHECK_EXCEPTION((void)a.get<float>("axis"), error, says(errc::invalid_graph, "axis"));
  BOOST_CHECK_EXCEPTION((void)a.get<float>("missing"), error, says(errc::invalid_graph, "missing"));
}

BOOST_AUTO_TEST_SUITE_END()
