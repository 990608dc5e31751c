#include "run_op.hpp"

#include <sluice/graph/collections.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

value number(std::int64_t i) {
  return tensor::of_scalar<std::int64_t>(i);
}

value three_items() {
  return sequence::make({number(10), number(20), number(30)});
}

std::vector<std::int64_t> items(const value& v) {
  std::vector<std::int64_t> result;
  for (const auto& item : v.sequence().items)
    result.push_back(item.scalar<std::int64_t>());
  return result;
}

using integers = std::vector<std::int64_t>;

} // namespace

BOOST_AUTO_TEST_SUITE(sequence_test)

BOOST_AUTO_TEST_CASE(items_are_put_in_taken_out_and_found_by_place) {
  BOOST_TEST(items(run_op("SequenceInsert", {three_items(), number(5), number(3)})[0]) ==
                 (integers{10, 20, 30, 5}),
             boost::test_tools::per_element());
  BOOST_TEST(items(run_op("SequenceInsert", {three_items(), number(5), number(-3)})[0]) ==
                 (integers{5, 10, 20, 30}),
             boost::test_tools::per_element());
  BOOST_TEST(items(run_op("SequenceErase", {three_items()})[0]) == (integers{10, 20}),
             boost::test_tools::per_element());
  BOOST_TEST(items(run_op("SequenceErase", {three_items(), number(0)})[0]) == (integers{20, 30}),
             boost::test_tools::per_element());
  BOOST_TEST(run_op("SequenceAt", {three_items(), number(-1)})[0].scalar<std::int64_t>() == 30);
  BOOST_TEST(run_op("SequenceLength", {three_items()})[0].scalar<std::int64_t>() == 3);
}

BOOST_AUTO_TEST_CASE(places_outside_and_items_of_another_type_are_refused) {
  const auto refused = [](const char* op, const std::vector<value>& inputs) {
    BOOST_CHECK_THROW(static_cast<void>(run_op(op, inputs)), error);
  };
  refused("SequenceAt", {three_items(), number(3)});
  refused("SequenceAt", {three_items(), number(-4)});
  refused("SequenceAt", {number(1), number(0)});
  refused("SequenceInsert", {three_items(), number(5), number(4)});
  refused("SequenceInsert", {three_items(), tensor::of_scalar(1.0F)});
  refused("SequenceErase", {sequence::make({})});
  refused("SequenceConstruct", {number(1), tensor::of_scalar(1.0F)});
  refused("OptionalGetElement", {optional_value::make({})});
}

BOOST_AUTO_TEST_CASE(a_split_tensor_is_joined_again) {
  const value whole = tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  for (const auto& parts : {value{}, number(2), value{tensor::of<std::int64_t>({2}, {1, 2})}}) {
    const auto split = run_op("SplitToSequence", {whole, parts}, {{"axis", std::int64_t{1}}})[0];
    const auto joined = run_op("ConcatFromSequence", {split}, {{"axis", std::int64_t{-1}}})[0];
    BOOST_TEST((joined.tensor().shape() == whole.tensor().shape()));
    BOOST_TEST(difference<float>(joined, whole.tensor().data<float>()) == 0);
  }
  const auto rows = run_op("SplitToSequence", {whole}, {{"keepdims", std::int64_t{0}}})[0];
  BOOST_TEST((rows.sequence().items[1].tensor().shape() == shape{3}));
  const auto stacked =
      run_op("ConcatFromSequence", {rows}, {{"axis", std::int64_t{1}}, {"new_axis", std::int64_t{1}}})[0];
  BOOST_TEST((stacked.tensor().shape() == shape{3, 2}));
  BOOST_CHECK_THROW(static_cast<void>(run_op("SplitToSequence", {whole, number(0)})), error);
  BOOST_CHECK_THROW(
      static_cast<void>(run_op("ConcatFromSequence", {sequence::make({})}, {{"axis", std::int64_t{0}}})),
      error);
}

BOOST_AUTO_TEST_CASE(an_optional_is_there_or_not) {
  const auto there = run_op("Optional", {number(7)})[0];
  BOOST_TEST(run_op("OptionalHasElement", {there})[0].scalar<bool>());
  BOOST_TEST(run_op("OptionalGetElement", {there})[0].scalar<std::int64_t>() == 7);
  BOOST_TEST(!run_op("OptionalHasElement", {optional_value::make({})})[0].scalar<bool>());
}

BOOST_AUTO_TEST_SUITE_END()
