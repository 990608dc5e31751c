#include "stepped_engine.hpp"

#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/evaluate.hpp>
#include <sluice/sluice.hpp>

#include <boost/test/unit_test.hpp>

#include <random>
#include <thread>

// Values in a frame's arena: whatever the order of firings, none is overwritten while somebody needs it.

using namespace sluice;
using namespace sluice::test;

namespace {

const value_type square{element_type::float32, shape{8, 8}};

value random_square(std::mt19937_64& random) {
  auto t = tensor::make(element_type::float32, {8, 8});
  std::uniform_real_distribution<float> any{-1, 1};
  for (auto& x : t->data<float>())
    x = any(random);
  return t;
}

/// Kernels that work in place, read twice, make views, need scratch space, or pass their input on.
std::shared_ptr<const graph> random_graph(graph_builder g, std::mt19937_64& random, std::size_t nodes) {
  std::vector<edge_ref> values{g.placeholder("x", square), g.placeholder("z", square)};
  const auto any = [&] {
    return values[values.size() - 1 - random() % std::min<std::size_t>(values.size(), 6)];
  };
  const auto flat = g.constant("flat", tensor::of<std::int64_t>({1}, {64}));
  const auto again = g.constant("again", tensor::of<std::int64_t>({2}, {8, 8}));
  for (std::size_t i = 0; i < nodes; ++i)
    switch (random() % 9) {
    case 0:
      values.push_back(g.op("Relu", {any()}));
      break;
    case 1:
      values.push_back(g.op("Tanh", {any()}));
      break;
    case 2:
      values.push_back(g.op("Add", {any(), any()}));
      break;
    case 3:
      values.push_back(g.op("Mul", {any(), any()}));
      break;
    case 4:
      values.push_back(g.op("Transpose", {any()}));
      break;
    case 5:
      values.push_back(g.op("Softmax", {any()}));
      break;
    case 6:
      values.push_back(g.op("Reshape", {g.op("Neg", {g.op("Reshape", {any(), flat})}), again}));
      break;
    case 7:
      values.push_back(g.op("Tanh", {g.op("MatMul", {any(), any()})}));
      break;
    default:
      values.push_back(g.op("Identity", {any()}));
    }
  for (std::size_t i = 0; i < 3; ++i)
    g.output("y" + std::to_string(i), values[values.size() - 1 - i]);
  return g.build();
}

bool same(const value& a, const value& b) {
  const auto x = a.tensor().data<float>();
  const auto y = b.tensor().data<float>();
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

struct expected_run {
  value x, z;
  std::vector<value> results;
};

std::vector<expected_run> expect(const graph& g, std::mt19937_64& random, std::size_t runs) {
  const auto operators = standard_operators();
  std::vector<expected_run> all;
  for (std::size_t i = 0; i < runs; ++i) {
    all.push_back({random_square(random), random_square(random), {}});
    all.back().results = evaluate(*operators, g, std::vector{all.back().x, all.back().z});
  }
  return all;
}

std::size_t right_results(const values& got, const expected_run& run) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < run.results.size(); ++i)
    right += same(got.at(i), run.results[i]) ? 1 : 0;
  return right;
}

} // namespace

BOOST_AUTO_TEST_SUITE(arena_test)

BOOST_AUTO_TEST_CASE(every_order_of_firings_gives_the_results_of_plain_evaluation) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    std::mt19937_64 random{seed};
    stepped_engine e{seed};
    const auto g = random_graph(e->builder(), random, 40);
    const auto runs = expect(*g, random, 4);
    auto s = e->load(g, {.order_for_memory = seed % 3 == 0});
    std::vector<pending_result> pending;
    for (const auto& run : runs)
      pending.push_back(s.run_async({{"x", run.x}, {"z", run.z}}));
    e.settle();
    for (std::size_t i = 0; i < runs.size(); ++i)
      BOOST_REQUIRE_EQUAL(right_results(pending[i].get(), runs[i]), 3u);
    pending.clear();
    BOOST_REQUIRE_EQUAL(e->memory_in_use(), s.memory_in_use());
  }
}

BOOST_AUTO_TEST_CASE(frames_on_threads_do_not_disturb_each_other) {
  engine e;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random{seed};
    const auto g = random_graph(e.builder(), random, 40);
    const auto runs = expect(*g, random, 8);
    auto s = e.load(g, {.order_for_memory = seed % 2 == 0});
    std::atomic<std::size_t> right = 0;
    {
      std::vector<std::jthread> callers;
      for (int t = 0; t < 4; ++t)
        callers.emplace_back([&] {
          for (int round = 0; round < 20; ++round)
            for (const auto& run : runs)
              right += right_results(s.run({{"x", run.x}, {"z", run.z}}), run);
        });
    }
    BOOST_TEST(right == 4u * 20 * 8 * 3);
  }
}

BOOST_AUTO_TEST_CASE(a_frame_leases_its_arena_and_results_alone_are_held_afterwards) {
  engine e;
  auto b = e.builder();
  auto x = b.placeholder("x", {element_type::float32, shape{1000}});
  for (int i = 0; i < 10; ++i)
    x = b.op("Tanh", {x});
  b.output("y", x);
  auto s = e.load(b.build());
  const auto fed = tensor::make(element_type::float32, {1000});
  std::fill(fed->data<float>().begin(), fed->data<float>().end(), 0.5f);
  const auto y = s.run({{"x", fed}});
  // Each Tanh works in place: the arena holds one row, and nine headers.
  BOOST_TEST(s.memory_peak() >= 2 * 4000u);
  BOOST_TEST(s.memory_peak() < 3 * 4000u + 10 * 256);
  BOOST_TEST(s.memory_in_use() >= 4000u);
  BOOST_TEST(s.memory_in_use() < 4000u + 256);
}

BOOST_AUTO_TEST_CASE(explain_says_where_a_value_stands_and_what_waits_for_memory) {
  engine e;
  auto b = e.builder();
  const auto x = b.placeholder("x", square);
  std::vector<edge_ref> branches;
  for (int i = 0; i < 6; ++i) {
    const auto wide =
        b.op("Concat", {x, x, x, x, x, x, x, x}, {{"axis", std::int64_t{0}}}, "wide" + std::to_string(i));
    branches.push_back(b.op("ReduceMax", {wide}, {}, "sum" + std::to_string(i)));
  }
  b.output("y", b.op("Sum", branches));
  const auto g = b.build();
  const auto narrow = e.load(g, {.inter_op_parallelism_threads = 1});
  const auto open = e.load(g, {.inter_op_parallelism_threads = 1, .order_for_memory = false});
  std::mt19937_64 random{1};
  const auto fed = random_square(random);
  std::size_t waiting = 0;
  for (auto s : {narrow, open})
    static_cast<void>(s.run({{"x", fed}}));
  for (int i = 0; i < 6; ++i) {
    const auto name = "wide" + std::to_string(i);
    BOOST_TEST(narrow.explain(name).find("in the frame's arena") != std::string::npos);
    const auto text = narrow.explain(name);
    waiting += text.find("waits for 1 nodes") != std::string::npos &&
                       text.find("one node at a time, ") != std::string::npos
                   ? 1
                   : 0;
    BOOST_TEST(open.explain(name).find("waits for") == std::string::npos);
  }
  BOOST_TEST(waiting == 5u);
  BOOST_TEST(3 * narrow.memory_peak() < open.memory_peak());
}

BOOST_AUTO_TEST_SUITE_END()
