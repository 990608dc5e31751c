#include <sluice/graph/error.hpp>
#include <sluice/graph/shape.hpp>

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace sluice;

namespace {

bool refused(const error& e) {
  return e.code() == errc::invalid_argument;
}

} // namespace

BOOST_AUTO_TEST_SUITE(shapes)

BOOST_AUTO_TEST_CASE(a_scalar_has_one_element_and_a_zero_extent_none) {
  BOOST_TEST(shape{}.elements() == 1);
  BOOST_TEST(shape{}.rank() == 0u);
  BOOST_TEST((shape{2, 3, 4}.elements()) == 24);
  BOOST_TEST((shape{2, 0, 4}.elements()) == 0);
  BOOST_TEST((shape{2, 3, 4}.product(1, 3)) == 12);
  BOOST_TEST(to_string(shape{2, 3}) == "[2, 3]");
  BOOST_TEST(to_string(shape{}) == "[]");
}

BOOST_AUTO_TEST_CASE(shapes_that_cannot_be_are_refused) {
  BOOST_CHECK_EXCEPTION((shape{2, -1}), error, refused);
  BOOST_CHECK_EXCEPTION((shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), error, refused);
  constexpr auto big = std::int64_t{1} << 31;
  BOOST_CHECK_EXCEPTION((shape{big, big, 2}), error, refused);
  BOOST_CHECK_EXCEPTION((shape{0, big, big, 2}), error, refused); // partial products would overflow
  BOOST_TEST((shape{big, big}.elements()) == std::int64_t{1} << 62);
  BOOST_CHECK_EXCEPTION((void)(shape{big, 1}.with(1, big * 4)), error, refused);
}

BOOST_AUTO_TEST_CASE(equality_looks_at_rank_and_extents) {
  BOOST_TEST((shape{2, 3} == shape{2, 3}));
  BOOST_TEST(!(shape{2, 3} == shape{2, 3, 1}));
  BOOST_TEST(!(shape{} == shape{1}));
  BOOST_TEST((shape{2, 3}.with(0, 5) == shape{5, 3}));
}

BOOST_AUTO_TEST_CASE(dims_are_equal_only_if_certainly_so) {
  BOOST_TEST((dim{3} == dim{3}));
  BOOST_TEST(!(dim{3} == dim{4}));
  BOOST_TEST((dim{"N"} == dim{"N"}));
  BOOST_TEST(!(dim{"N"} == dim{"M"}));
  BOOST_TEST(!(dim{} == dim{}));
  BOOST_TEST(!(dim{"N"} == dim{3}));
}

BOOST_AUTO_TEST_CASE(a_partial_shape_admits_what_does_not_contradict_it) {
  const partial_shape p{"N", 3, dim{}};
  BOOST_TEST(p.admits({7, 3, 9}));
  BOOST_TEST(!p.admits({7, 4, 9}));
  BOOST_TEST(!p.admits({7, 3}));
  BOOST_TEST(partial_shape{}.admits({1, 2}));
  BOOST_TEST(!p.known());
  BOOST_TEST((partial_shape{shape{2, 3}}.known()));
  BOOST_TEST(!p.to_shape().has_value());
  BOOST_TEST((*partial_shape{shape{2, 3}}.to_shape() == shape{2, 3}));
  BOOST_TEST(to_string(p) == "[N, 3, ?]");
  BOOST_TEST(to_string(partial_shape{}) == "[...]");
}

BOOST_AUTO_TEST_CASE(merging_keeps_what_either_side_knows) {
  const auto merged = [](const partial_shape& a, const partial_shape& b) {
    const auto m = a.merged(b);
    return m ? to_string(*m) : "contradiction";
  };
  BOOST_TEST(merged({"N", 3}, {5, dim{}}) == "[5, 3]");
  BOOST_TEST(merged({dim{}, 3}, {"N", dim{}}) == "[N, 3]");
  BOOST_TEST(merged({}, {2}) == "[2]");
  BOOST_TEST(merged({2}, {}) == "[2]");
  BOOST_TEST(merged({2}, {3}) == "contradiction");
  BOOST_TEST(merged({2}, {2, 2}) == "contradiction");
  BOOST_TEST(merged({"N"}, {"M"}) == "[N]");
}

BOOST_AUTO_TEST_SUITE_END()
