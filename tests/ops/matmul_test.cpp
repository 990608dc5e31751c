#include "random_tensor.hpp"
#include "run_op.hpp"

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

/// The product of two shapes with the same batch axes, or of matrices.
template <class T>
std::vector<T> plain_product(std::span<const T> a, std::span<const T> b, std::size_t batch, std::size_t m,
                             std::size_t k, std::size_t n) {
  std::vector<T> c;
  for (std::size_t i = 0; i < batch; ++i)
    for (std::size_t r = 0; r < m; ++r)
      for (std::size_t col = 0; col < n; ++col) {
        float sum = 0;
        for (std::size_t j = 0; j < k; ++j)
          sum += static_cast<float>(a[(i * m + r) * k + j]) * static_cast<float>(b[(i * k + j) * n + col]);
        c.push_back(static_cast<T>(sum));
      }
  return c;
}

template <class T>
void check_products() {
  const std::array<std::int64_t, 4> cases[] = {{1, 1, 1, 1},   {1, 1, 256, 10},  {2, 3, 5, 7},
                                               {1, 7, 40, 64}, {3, 50, 9, 100},  {1, 17, 1100, 33},
                                               {2, 4, 16, 16}, {1, 100, 70, 130}};
  for (const auto& [batch, m, k, n] : cases)
    for (const auto constant : {false, true}) {
      const auto a = whole_numbers<T>({batch, m, k}, 1, 0, 3);
      const auto b = whole_numbers<T>({batch, k, n}, 2, 0, 3);
      const run_options options{.constants =
                                    constant ? std::vector<std::size_t>{1} : std::vector<std::size_t>{}};
      const auto y = run_op("MatMul", {a, b}, {}, options)[0];
      const auto size = [](std::int64_t v) { return static_cast<std::size_t>(v); };
      BOOST_TEST_CONTEXT(batch << " of " << m << " x " << k << " x " << n)
      BOOST_TEST(difference<T>(y, plain_product<T>(std::as_const(*a).template data<T>(),
                                                   std::as_const(*b).template data<T>(), size(batch), size(m),
                                                   size(k), size(n))) == 0);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(matmul_test)

BOOST_AUTO_TEST_CASE(products_are_what_the_sum_says_in_every_type) {
  check_products<float>();
  check_products<double>();
  check_products<std::int32_t>();
  check_products<std::uint64_t>();
}

BOOST_AUTO_TEST_CASE(whole_numbers_wrap_around) {
  const auto big = std::int64_t{1} << 62;
  const auto a = tensor::of<std::int64_t>({1, 2}, {big, big});
  const auto b = tensor::of<std::int64_t>({2, 1}, {2, 3});
  BOOST_TEST(run_op("MatMul", {a, b})[0].scalar<std::int64_t>() == big);
}

BOOST_AUTO_TEST_CASE(batches_broadcast_as_in_numpy) {
  const auto a = whole_numbers<float>({2, 1, 3, 4}, 1);
  const auto b = whole_numbers<float>({3, 4, 5}, 2);
  const auto y = run_op("MatMul", {a, b})[0];
  BOOST_TEST((y.tensor().shape() == shape{2, 3, 3, 5}));
  for (std::int64_t i = 0; i < 6; ++i) {
    const auto part = run_op("MatMul", {tensor::reshaped(tensor::rows(a, i / 3, 1), {3, 4}),
                                        tensor::reshaped(tensor::rows(b, i % 3, 1), {4, 5})})[0];
    const auto whole = y.tensor().data<float>().subspan(static_cast<std::size_t>(i) * 15, 15);
    BOOST_TEST(difference<float>(part, whole) == 0);
  }
}

BOOST_AUTO_TEST_CASE(vectors_lose_their_axis) {
  const auto v = tensor::of<float>({2}, {1, 2});
  const auto m = tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const auto stack = tensor::of<float>({2, 1, 2}, {1, 2, 3, 4});
  const auto check = [](const value& y, const shape& s, const std::vector<float>& expected) {
    BOOST_TEST((y.tensor().shape() == s));
    BOOST_TEST(difference<float>(y, expected) == 0);
  };
  check(run_op("MatMul", {v, v})[0], {}, {5});
  check(run_op("MatMul", {v, m})[0], {2}, {7, 10});
  check(run_op("MatMul", {m, v})[0], {2}, {5, 11});
  check(run_op("MatMul", {stack, v})[0], {2, 1}, {5, 11});
}

BOOST_AUTO_TEST_CASE(an_empty_sum_is_zero_and_an_empty_result_is_empty) {
  const auto y = run_op(
      "MatMul", {tensor::make(element_type::float32, {2, 0}), tensor::make(element_type::float32, {0, 3})});
  BOOST_TEST(difference<float>(y[0], std::vector<float>(6, 0.0f)) == 0);
  const auto none = run_op(
      "MatMul", {tensor::make(element_type::float32, {0, 2}), tensor::make(element_type::float32, {2, 3})});
  BOOST_TEST((none[0].tensor().shape() == shape{0, 3}));
}

BOOST_AUTO_TEST_CASE(matrices_that_do_not_fit_are_refused) {
  const auto a = whole_numbers<float>({2, 3}, 1);
  BOOST_CHECK_THROW(run_op("MatMul", {a, a}), error);
  BOOST_CHECK_THROW(run_op("MatMul", {a, tensor::of_scalar(1.0f)}), error);
  BOOST_CHECK_THROW(run_op("MatMul", {a, whole_numbers<double>({3, 2}, 1)}), error);
  BOOST_CHECK_THROW(run_op("Gemm", {a, a}), error);
  BOOST_CHECK_THROW(run_op("Gemm", {a, whole_numbers<float>({3, 2}, 1), whole_numbers<float>({3}, 1)}),
                    error);
}

BOOST_AUTO_TEST_CASE(gemm_scales_transposes_and_adds) {
  const auto a = whole_numbers<float>({4, 3}, 1);
  const auto b = whole_numbers<float>({5, 4}, 2);
  const auto plain_a =
      run_op("Gemm",
             {a, run_op("Gemm",
                        {b, tensor::of<float>({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1})})[0]},
             {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}})[0];
  for (const shape& s : {shape{}, shape{1}, shape{5}, shape{1, 5}, shape{3, 1}, shape{3, 5}})
    for (const auto alpha : {1.0f, 0.5f}) {
      const auto c = whole_numbers<float>(s, 3);
      const auto y = run_op(
          "Gemm", {a, b, c},
          {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}, {"alpha", alpha}, {"beta", 2.0f}})[0];
      std::vector<float> expected;
      for (std::int64_t i = 0; i < 15; ++i) {
        const auto row = s.rank() > 1 && s[0] > 1 ? i / 5 : 0;
        const auto col = s.rank() > 0 && s[s.rank() - 1] > 1 ? i % 5 : 0;
        const auto width = s.rank() > 0 ? s[s.rank() - 1] : 1;
        expected.push_back(alpha * plain_a.tensor().data<float>()[static_cast<std::size_t>(i)] +
                           2 * c->data<float>()[static_cast<std::size_t>(row * width + col)]);
      }
      BOOST_TEST_CONTEXT(to_string(s)) BOOST_TEST(difference<float>(y, expected) == 0);
    }
}

BOOST_AUTO_TEST_CASE(rows_have_the_same_bits_in_a_batch_of_any_size) {
  const auto a = uniform_numbers({60, 300}, 1);
  const auto b = uniform_numbers({300, 70}, 2);
  const run_options options{.constants = {1}};
  const auto all = run_op("MatMul", {a, b}, {}, options)[0];
  for (const auto first : {0, 31, 59}) {
    const auto one = run_op("MatMul", {tensor::rows(a, first, 1), b}, {}, options)[0];
    BOOST_TEST(difference<float>(
                   one, all.tensor().data<float>().subspan(static_cast<std::size_t>(first) * 70, 70)) == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
