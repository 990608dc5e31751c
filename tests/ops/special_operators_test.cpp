#include "random_tensor.hpp"
#include "run_op.hpp"

#include <tests/support/elements.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr auto infinity = std::numeric_limits<float>::infinity();
constexpr auto not_a_number = std::numeric_limits<float>::quiet_NaN();

void check_refused(const std::string& op, const std::vector<value>& inputs,
                   const attribute_map& attributes = {}) {
  BOOST_CHECK_THROW(static_cast<void>(run_op(op, inputs, attributes)), error);
}

value einsum(const std::string& equation, const std::vector<value>& operands) {
  return run_op("Einsum", operands, {{"equation", equation}})[0];
}

} // namespace

BOOST_AUTO_TEST_SUITE(special_operators_test)

BOOST_AUTO_TEST_CASE(equations_name_products_traces_and_transpositions) {
  const value a = tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const value b = tensor::of<float>({2, 2}, {5, 6, 7, 8});
  using expected = std::vector<float>;
  BOOST_TEST(floats(einsum("ij,jk->ik", {a, b})) == (expected{19, 22, 43, 50}),
             boost::test_tools::per_element());
  BOOST_TEST(floats(einsum("ij, jk", {a, b})) == (expected{19, 22, 43, 50}),
             boost::test_tools::per_element());
  BOOST_TEST(floats(einsum("ji", {a})) == (expected{1, 3, 2, 4}), boost::test_tools::per_element());
  BOOST_TEST(floats(einsum("ii->", {a})) == (expected{5}), boost::test_tools::per_element());
  BOOST_TEST(floats(einsum("ii->i", {a})) == (expected{1, 4}), boost::test_tools::per_element());
  BOOST_TEST(floats(einsum("...j->...", {a})) == (expected{3, 7}), boost::test_tools::per_element());
  for (const auto* wrong : {"ij", "ij,jk,kl", "ijk,jk", "ij,jk->iz", "ij,jk->ii", "i-,jk", "ij,jk->i->k", ""})
    check_refused("Einsum", {a, b}, {{"equation", std::string{wrong}}});
  check_refused("Einsum", {a, tensor::of<float>({3}, {1, 2, 3})}, {{"equation", std::string{"ij,j->i"}}});
}

BOOST_AUTO_TEST_CASE(determinants_of_stacks_of_matrices) {
  const value m = tensor::of<float>({2, 2, 2}, {0, 2, 3, 4, 1, 2, 2, 4});
  BOOST_TEST(floats(run_op("Det", {m})[0]) == (std::vector<float>{-6, 0}), boost::test_tools::per_element());
  check_refused("Det", {tensor::of<float>({1, 2}, {1, 2})});
}

BOOST_AUTO_TEST_CASE(a_transform_of_any_length_comes_back_by_its_inverse) {
  for (const std::int64_t n : {1, 2, 7, 12, 64, 400}) {
    const value x = uniform_numbers({1, n, 2}, 1);
    const auto there = run_op("DFT", {x})[0];
    const auto back = run_op("DFT", {there}, {{"inverse", std::int64_t{1}}})[0];
    BOOST_TEST(difference<float>(back, x.tensor().data<float>()) < 1e-6);
  }
  const value real = uniform_numbers({1, 8, 1}, 2);
  check_refused("DFT", {real, tensor::of_scalar<std::int64_t>(0)});
  check_refused("DFT", {real, tensor::of_scalar<std::int64_t>(std::numeric_limits<std::int64_t>::max())});
  check_refused("STFT", {real, tensor::of_scalar<std::int64_t>(0), {}, tensor::of_scalar<std::int64_t>(4)});
  check_refused("STFT", {real, tensor::of_scalar<std::int64_t>(2), {}, tensor::of_scalar<std::int64_t>(9)});
}

BOOST_AUTO_TEST_CASE(samples_at_no_number_and_infinity_stay_inside_the_image) {
  const value image = uniform_numbers({1, 1, 3, 3}, 3);
  const value grid =
      tensor::of<float>({1, 1, 4, 2}, {not_a_number, 0, infinity, -infinity, 1e30F, -1e30F, 0, 0});
  for (const auto* mode : {"bilinear", "nearest", "bicubic"})
    for (const auto* padding : {"zeros", "border", "reflection"}) {
      const auto out = run_op("GridSample", {image, grid},
                              {{"mode", std::string{mode}}, {"padding_mode", std::string{padding}}})[0];
      BOOST_TEST(std::abs(floats(out)[3] - image.tensor().data<float>()[4]) < 1e-6f);
    }
}

BOOST_AUTO_TEST_CASE(regions_that_mean_nothing_do_not_leave_the_image) {
  const value image = uniform_numbers({1, 1, 4, 4}, 4);
  const value regions = tensor::of<float>({2, 4}, {not_a_number, 0, 1e30F, 1, -1e30F, infinity, 3, 3});
  const value batches = tensor::of<std::int64_t>({2}, {0, 0});
  BOOST_TEST((run_op("RoiAlign", {image, regions, batches})[0].tensor().shape() == shape{2, 1, 1, 1}));
  check_refused("RoiAlign", {image, regions, tensor::of<std::int64_t>({2}, {0, 1})});
  check_refused("RoiAlign", {image, regions, tensor::of<std::int64_t>({1}, {0})});
}

BOOST_AUTO_TEST_CASE(of_boxes_that_overlap_the_best_is_selected) {
  const value boxes = tensor::of<float>({1, 3, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 5, 1, 6});
  const value scores = tensor::of<float>({1, 1, 3}, {0.5F, 0.9F, 0.7F});
  const auto out = run_op("NonMaxSuppression",
                          {boxes, scores, tensor::of_scalar<std::int64_t>(3), tensor::of_scalar(0.5F)})[0];
  const auto selected = out.tensor().data<std::int64_t>();
  BOOST_TEST((std::vector<std::int64_t>{selected.begin(), selected.end()}) ==
                 (std::vector<std::int64_t>{0, 0, 1, 0, 0, 2}),
             boost::test_tools::per_element());
  check_refused("NonMaxSuppression", {boxes, tensor::of<float>({1, 1, 2}, {1, 2})});
}

BOOST_AUTO_TEST_CASE(unpooled_elements_go_where_they_came_from) {
  const value x = tensor::of<float>({1, 1, 1, 2}, {5, 6});
  const attribute_map pooling = {{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                                 {"strides", std::vector<std::int64_t>{2, 2}}};
  const value indices = tensor::of<std::int64_t>({1, 1, 1, 2}, {1, 6});
  BOOST_TEST(floats(run_op("MaxUnpool", {x, indices}, pooling)[0]) ==
                 (std::vector<float>{0, 5, 0, 0, 0, 0, 6, 0}),
             boost::test_tools::per_element());
  check_refused("MaxUnpool", {x, tensor::of<std::int64_t>({1, 1, 1, 2}, {1, 8})}, pooling);
  check_refused("MaxUnpool", {x, tensor::of<std::int64_t>({1, 1, 2, 1}, {1, 2})}, pooling);
  check_refused("MaxUnpool", {x, indices}, {{"kernel_shape", std::vector<std::int64_t>{2}}});
}

BOOST_AUTO_TEST_SUITE_END()
