#include "random_tensor.hpp"
#include "run_op.hpp"

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::int64_t steps = 5, batch = 3, in = 4, hidden = 6;

std::vector<float> row_of(const value& y, std::int64_t step, std::int64_t direction, std::int64_t directions,
                          std::int64_t row) {
  const auto all = y.tensor().data<float>();
  const auto at = static_cast<std::size_t>(((step * directions + direction) * batch + row) * hidden);
  return {all.begin() + static_cast<std::ptrdiff_t>(at),
          all.begin() + static_cast<std::ptrdiff_t>(at) + hidden};
}

struct operands {
  std::int64_t gates;
  std::int64_t directions = 1;
  value x = uniform_numbers({steps, batch, in}, 1);
  value w = uniform_numbers({directions, gates* hidden, in}, 2);
  value r = uniform_numbers({directions, gates* hidden, hidden}, 3);
  value b = uniform_numbers({directions, 2 * gates* hidden}, 4);
};

std::int64_t gates_of(const std::string& op) {
  return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
}

attribute_map with(std::initializer_list<std::pair<const std::string, attribute>> more) {
  attribute_map a{more};
  a.set("hidden_size", hidden);
  return a;
}

} // namespace

BOOST_AUTO_TEST_SUITE(rnn_test)

BOOST_AUTO_TEST_CASE(one_step_of_each_cell_is_what_the_formula_says) {
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const value x = tensor::of<float>({1, 1, 1}, {0.5f});
  const value h = tensor::of<float>({1, 1, 1}, {0.25f});
  const value rnn_w = tensor::of<float>({1, 1, 1}, {2}), rnn_r = tensor::of<float>({1, 1, 1}, {3});
  const attribute_map one{{"hidden_size", std::int64_t{1}}};
  BOOST_TEST(std::abs(run_op("RNN", {x, rnn_w, rnn_r, {}, {}, h}, one)[0].scalar<float>() - std::tanh(1.75)) <
             1e-6);

  const value gru_w = tensor::of<float>({1, 3, 1}, {1, 2, 3}),
              gru_r = tensor::of<float>({1, 3, 1}, {1, -1, 2});
  const value gru_b = tensor::of<float>({1, 6}, {0, 0, 0, 0, 0, 0.5f});
  const auto z = sigmoid(0.75), r = sigmoid(0.75);
  for (const auto before : {0, 1}) {
    auto a = one;
    a.set("linear_before_reset", std::int64_t{before});
    const auto candidate = std::tanh(before ? 1.5 + r * (0.5 + 0.5) : 1.5 + r * 0.25 * 2 + 0.5);
    const auto y = run_op("GRU", {x, gru_w, gru_r, gru_b, {}, h}, a)[0].scalar<float>();
    BOOST_TEST(std::abs(y - ((1 - z) * candidate + z * 0.25)) < 1e-6);
  }

  const value w = tensor::of<float>({1, 4, 1}, {1, 2, 3, 4}), r4 = tensor::of<float>({1, 4, 1}, {1, 1, 1, 1});
  const value c = tensor::of<float>({1, 1, 1}, {2}), p = tensor::of<float>({1, 3}, {0.5f, 0.25f, -0.5f});
  const auto cell = sigmoid(1.75 - 1) * 2 + sigmoid(0.75 + 1) * std::tanh(2.25);
  const auto y = run_op("LSTM", {x, w, r4, {}, {}, h, c, p}, one, {.outputs = 3});
  BOOST_TEST(std::abs(y[2].scalar<float>() - cell) < 1e-6);
  BOOST_TEST(std::abs(y[1].scalar<float>() - sigmoid(1.25 + 0.25 * cell) * std::tanh(cell)) < 1e-6);
}

BOOST_AUTO_TEST_CASE(a_short_sequence_in_a_batch_is_as_if_it_were_alone) {
  for (const auto* op : {"RNN", "GRU", "LSTM"})
    for (const auto* direction : {"forward", "reverse", "bidirectional"}) {
      const auto directions = std::string{direction} == "bidirectional" ? 2 : 1;
      const operands o{.gates = gates_of(op), .directions = directions};
      const auto a = with({{"direction", std::string{direction}}});
      const auto lengths = tensor::of<std::int32_t>({batch}, {5, 2, 0});
      const auto y = run_op(op, {o.x, o.w, o.r, o.b, lengths}, a, {.outputs = 2});
      // The first two steps alone; row 1 is the one that ends there.
      const auto alone =
          run_op(op, {tensor::rows(o.x, 0, 2), o.w, o.r, o.b}, a, {.outputs = 2, .constants = {1, 2}});
      BOOST_TEST_CONTEXT(op << " " << direction)
      for (std::int64_t d = 0; d < directions; ++d) {
        for (std::int64_t s = 0; s < 2; ++s)
          BOOST_TEST(row_of(y[0], s, d, directions, 1) == row_of(alone[0], s, d, directions, 1));
        BOOST_TEST(row_of(y[0], 2, d, directions, 1) == std::vector<float>(hidden, 0.0f));
        BOOST_TEST(row_of(y[1], 0, d, directions, 1) == row_of(alone[1], 0, d, directions, 1));
        BOOST_TEST(row_of(y[1], 0, d, directions, 2) == std::vector<float>(hidden, 0.0f));
      }
    }
}

BOOST_AUTO_TEST_CASE(state_carried_over_is_the_same_as_one_run) {
  const operands o{.gates = 4};
  const auto whole = run_op("LSTM", {o.x, o.w, o.r, o.b}, with({}), {.outputs = 3});
  const auto first = run_op("LSTM", {tensor::rows(o.x, 0, 2), o.w, o.r, o.b}, with({}), {.outputs = 3});
  const auto second = run_op("LSTM", {tensor::rows(o.x, 2, 3), o.w, o.r, o.b, {}, first[1], first[2]},
                             with({}), {.outputs = 3});
  BOOST_TEST(difference<float>(second[1], whole[1].tensor().data<float>()) == 0);
  BOOST_TEST(difference<float>(second[2], whole[2].tensor().data<float>()) == 0);
}

BOOST_AUTO_TEST_CASE(activations_take_their_parameters_in_order_and_are_clipped) {
  const value x = tensor::of<float>({1, 1, 1}, {-3});
  const value w = tensor::of<float>({1, 1, 1}, {1}), r = tensor::of<float>({1, 1, 1}, {0});
  const auto run = [&](const std::string& name, std::vector<float> alpha, std::vector<float> beta,
                       float clip) {
    return run_op("RNN", {x, w, r},
                  {{"hidden_size", std::int64_t{1}},
                   {"activations", std::vector<std::string>{name}},
                   {"activation_alpha", std::move(alpha)},
                   {"activation_beta", std::move(beta)},
                   {"clip", clip}})[0]
        .scalar<float>();
  };
  BOOST_TEST(run("Affine", {2}, {1}, 0) == -5);
  BOOST_TEST(run("Affine", {2}, {1}, 1) == -1);
  BOOST_TEST(run("Relu", {}, {}, 0) == 0);
  BOOST_TEST(std::abs(run("LeakyRelu", {}, {}, 0) + 0.03f) < 1e-7);
  BOOST_TEST(std::abs(run("Elu", {2}, {}, 0) - 2 * (std::exp(-3.0f) - 1)) < 1e-6);
  BOOST_TEST(std::abs(run("Softsign", {}, {}, 0) + 0.75f) < 1e-7);
  BOOST_TEST(run("HardSigmoid", {}, {}, 0) == 0);
  BOOST_CHECK_THROW(run("Sine", {}, {}, 0), error);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_together_is_refused) {
  const operands o{.gates = 4};
  const auto lengths = tensor::of<std::int32_t>({batch}, {5, 6, 1});
  const value short_bias = uniform_numbers({1, 4 * hidden}, 4);
  const value state = uniform_numbers({1, batch, hidden + 1}, 4);
  BOOST_CHECK_THROW(run_op("LSTM", {o.x, o.w, o.r, o.b, lengths}, with({})), error);
  BOOST_CHECK_THROW(run_op("LSTM", {o.x, o.w, o.r, short_bias}, with({})), error);
  BOOST_CHECK_THROW(run_op("LSTM", {o.x, o.w, o.r, o.b, {}, state}, with({})), error);
  BOOST_CHECK_THROW(run_op("LSTM", {o.x, o.r, o.w}, with({})), error);
  BOOST_CHECK_THROW(run_op("GRU", {o.x, o.w, o.r}, with({})), error);
  BOOST_CHECK_THROW(run_op("LSTM", {o.x, o.w, o.r}, with({{"direction", std::string{"sideways"}}})), error);
}

BOOST_AUTO_TEST_SUITE_END()
