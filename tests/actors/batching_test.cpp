#include "stepped_engine.hpp"

#include <sluice/actors/cut_schedule.hpp>
#include <sluice/actors/engine.hpp>
#include <sluice/actors/session_core.hpp>

#include <tests/support/has_operator.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t width = 32;
constexpr std::int64_t hidden = 256;

value random_floats(const shape& s, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  auto t = tensor::make(element_type::float32, s);
  for (auto& e : t->data<float>())
    e = std::uniform_real_distribution<float>{-1, 1}(random);
  return t;
}

/// Two layers: an item takes 2 kB while it runs.
std::shared_ptr<const graph> layers(const engine& e) {
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", {"N", width});
  const auto h = g.op("Tanh", {g.matmul(x, g.constant("w", random_floats({width, hidden}, 1)))});
  g.output("y", g.matmul(h, g.constant("v", random_floats({hidden, 3}, 2))));
  return g.build("layers");
}

session_options within(std::size_t budget) {
  return {.name = "small", .memory_budget = {{"cpu:0", budget}}};
}

/// Enough for weights, their packed copies, the results and a few hundred items.
constexpr std::size_t tight = 1'000'000;

bool same_bits(const value& a, const value& b) {
  return a.tensor().shape() == b.tensor().shape() &&
         std::memcmp(a.tensor().raw(), b.tensor().raw(), a.tensor().bytes()) == 0;
}

/// @threadsafe, other than what tests check with
bool is_near(const value& a, const value& b) {
  const auto x = a.tensor().data<float>();
  const auto y = b.tensor().data<float>();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](float p, float q) { return std::abs(p - q) <= 1e-5f; });
}

double largest_difference(const value& a, const value& b) {
  BOOST_REQUIRE(a.tensor().shape() == b.tensor().shape());
  const auto x = a.tensor().data<float>();
  const auto y = b.tensor().data<float>();
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
  return worst;
}

/// y = x, but for an item that begins with a negative number: that is an error which names it. A
/// shape-preserving operator stands in front, so that the graph has memory of its own.
std::shared_ptr<const graph> picky(const engine& e, std::int64_t columns) {
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", {"N", columns});
  const auto table = g.constant("table", random_floats({4, columns}, 3));
  const auto index = g.placeholder<std::int64_t>("i", {"N"});
  g.output("y", g.add(g.op("Tanh", {x}), g.op("Gather", {table, index}, {}, "look up")));
  return g.build("picky");
}

} // namespace

BOOST_AUTO_TEST_SUITE(batching)

BOOST_AUTO_TEST_CASE(a_request_that_does_not_fit_runs_in_parts) {
  engine e;
  auto large = e.load(layers(e));
  auto small = e.load(layers(e), within(tight));
  for (const std::int64_t items : {2'000, 20'000, 27'997}) {
    const auto x = random_floats({items, width}, 5);
    const auto whole = large.run({{"x", x}});
    const auto cut = small.run({{"x", x}});
    BOOST_TEST(largest_difference(whole["y"], cut["y"]) <= 1e-5);
    BOOST_TEST(small.memory_peak() <= tight);
  }
  BOOST_TEST(small.explain_cuts().find("27997 items cut into") != std::string::npos, small.explain_cuts());
  BOOST_TEST(large.explain_cuts().empty());
}

BOOST_AUTO_TEST_CASE(a_request_that_fits_runs_in_one_piece) {
  engine e;
  auto small = e.load(layers(e), within(tight));
  static_cast<void>(small.run({{"x", random_floats({50, width}, 5)}}));
  BOOST_TEST(small.explain_cuts().empty());
}

BOOST_AUTO_TEST_CASE(results_of_a_cut_request_are_held_and_then_free) {
  engine e;
  auto small = e.load(layers(e), within(tight));
  const auto before = small.memory_in_use();
  {
    const auto y = small.run({{"x", random_floats({20'000, width}, 5)}});
    BOOST_TEST(small.core()->ledger().in_use(memory_use::held) >= 20'000u * 3 * sizeof(float));
    BOOST_TEST(small.core()->ledger().in_use(memory_use::frames) == 0u);
  }
  BOOST_TEST(small.core()->ledger().in_use(memory_use::held) == 0u);
  BOOST_TEST(small.core()->ledger().in_use(memory_use::frames) == 0u);
  BOOST_TEST(small.memory_in_use() >= before); // packed weights stay
  BOOST_TEST(small.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(results_go_to_the_callers_memory) {
  engine e;
  auto small = e.load(layers(e), within(tight));
  const auto x = random_floats({5'000, width}, 5);
  const auto expected = small.run({{"x", x}});
  const value mine = tensor::make(element_type::float32, {5'000, 3});
  const auto y = small.run_into({{"x", x}}, {{"y", mine}});
  BOOST_TEST(same_bits(expected["y"], mine));
  BOOST_TEST(y["y"].body() == mine.body());
  BOOST_CHECK_EXCEPTION(small.run_into({{"x", x}}, {{"y", tensor::make(element_type::float32, {5'000, 2})}}),
                        error, [](const error& f) { return f.code() == errc::invalid_argument; });
}

BOOST_AUTO_TEST_CASE(states_with_their_batch_on_axis_1_are_cut_there, *has_operator("GRU")) {
  engine e;
  const auto recurrent = [&] {
    auto g = e.builder();
    const auto x = g.placeholder<float>("x", {6, "N", 8});
    const auto h = g.placeholder<float>("h", {1, "N", 16});
    const auto made = g.op_outputs("GRU",
                                   {x,
                                    g.constant("w", random_floats({1, 48, 8}, 1)),
                                    g.constant("r", random_floats({1, 48, 16}, 2)),
                                    {},
                                    {},
                                    h},
                                   {{"hidden_size", std::int64_t{16}}}, {.outputs = {"all", "last"}});
    g.output("y", made[0]);
    g.output("state", made[1]);
    return g.build("recurrent");
  };
  auto large = e.load(recurrent());
  auto small = e.load(recurrent(), within(1'200'000));
  const auto x = random_floats({6, 1'501, 8}, 5);
  const auto h = random_floats({1, 1'501, 16}, 6);
  const auto whole = large.run({{"x", x}, {"h", h}});
  const auto cut = small.run({{"x", x}, {"h", h}});
  BOOST_TEST(largest_difference(whole["y"], cut["y"]) <= 1e-5);
  BOOST_TEST(largest_difference(whole["state"], cut["state"]) <= 1e-5);
  BOOST_TEST(!small.explain_cuts().empty());
  BOOST_TEST(small.memory_peak() <= 1'200'000u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_cut_is_refused_with_the_reason) {
  engine e;
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", {"N", 64});
  g.output("y", g.op("ReduceSum", {g.op("Tanh", {x})}, {{"keepdims", std::int64_t{0}}}, "total"));
  auto s = e.load(g.build("mixing"), within(100'000));
  try {
    static_cast<void>(s.run({{"x", random_floats({5'000, 64}, 5)}}));
    BOOST_FAIL("it ran");
  } catch (const error& f) {
    BOOST_TEST((f.code() == errc::out_of_memory));
    BOOST_TEST(std::string{f.what()}.find("ReduceSum 'total': reduces the whole batch") != std::string::npos,
               f.what());
  }
  auto t = e.load(layers(e), within(200'000));
  try {
    static_cast<void>(t.run({{"x", random_floats({28'000, width}, 5)}}));
    BOOST_FAIL("it ran");
  } catch (const error& f) {
    BOOST_TEST(std::string{f.what()}.find("its results alone take") != std::string::npos, f.what());
  }
  BOOST_TEST(t.core()->ledger().in_use(memory_use::frames) == 0u);
}

BOOST_AUTO_TEST_CASE(the_error_of_the_first_failing_part_is_the_requests) {
  engine e;
  constexpr std::int64_t columns = 64;
  auto s = e.load(picky(e, columns), within(2'000'000));
  constexpr std::int64_t items = 5'000;
  auto index = tensor::make(element_type::int64, {items});
  std::fill(index->data<std::int64_t>().begin(), index->data<std::int64_t>().end(), 1);
  index->data<std::int64_t>()[2'600] = 77;
  index->data<std::int64_t>()[4'900] = 78;
  const value i = index;
  const auto x = random_floats({items, columns}, 5);
  for (int round = 0; round < 3; ++round) {
    try {
      static_cast<void>(s.run({{"x", x}, {"i", i}}));
      BOOST_FAIL("it ran");
    } catch (const error& f) {
      const std::string text = f.what();
      BOOST_TEST(text.find("look up") != std::string::npos, text);
      BOOST_TEST(text.find("77") != std::string::npos, text);
      BOOST_TEST(text.find("items ") == 0u, text);
    }
    BOOST_TEST(s.core()->ledger().in_use(memory_use::frames) == 0u);
  }
  BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(cancellation_and_deadlines_reach_all_parts) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    stepped_engine e{seed};
    auto s = e->load(layers(*e), within(tight));
    std::mt19937_64 random{seed};
    const auto x = random_floats({8'000, width}, 5);
    auto cancelled = s.run_async({{"x", x}});
    for (auto steps = random() % 200; steps > 0; --steps)
      e.step();
    const auto was_ready = cancelled.ready();
    cancelled.cancel();
    BOOST_TEST(cancelled.ready());
    run_options options;
    options.deadline = 1s;
    auto late = s.run_async({{"x", x}}, options);
    for (auto steps = random() % 200; steps > 0; --steps)
      e.step();
    const auto in_time = late.ready();
    e.advance(2s);
    e.settle();
    BOOST_REQUIRE(late.ready());
    const auto code = [](pending_result& r) -> std::optional<errc> {
      try {
        static_cast<void>(r.get());
        return std::nullopt;
      } catch (const error& f) {
        return f.code();
      }
    };
    const auto first = code(cancelled);
    BOOST_TEST((was_ready ? !first : first == errc::cancelled));
    const auto second = code(late);
    BOOST_TEST((in_time ? !second : second == errc::deadline_exceeded));
    e.settle();
    BOOST_TEST(s.core()->ledger().in_use(memory_use::frames) == 0u);
    BOOST_TEST(s.core()->ledger().in_use(memory_use::held) == 0u);
    BOOST_TEST(s.core()->at_rest());
    BOOST_TEST(s.memory_peak() <= tight);
  }
}

BOOST_AUTO_TEST_CASE(every_interleaving_gives_the_same_results) {
  value first;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    stepped_engine e{seed};
    auto s = e->load(layers(*e), within(tight));
    auto a = s.run_async({{"x", random_floats({3'001, width}, 5)}});
    auto b = s.run_async({{"x", random_floats({40, width}, 6)}});
    auto c = s.run_async({{"x", random_floats({2'000, width}, 7)}});
    e.settle();
    BOOST_REQUIRE(a.ready());
    BOOST_REQUIRE(b.ready());
    BOOST_REQUIRE(c.ready());
    const auto y = a.get();
    static_cast<void>(b.get());
    static_cast<void>(c.get());
    if (first.empty())
      first = y["y"];
    BOOST_TEST(largest_difference(first, y["y"]) <= 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(large_and_small_requests_of_many_threads_are_all_answered_within_the_budget) {
  engine e;
  auto large = e.load(layers(e));
  auto s = e.load(layers(e), within(tight));
  const auto x = random_floats({6'000, width}, 5);
  const auto few = random_floats({9, width}, 6);
  const auto expected = large.run({{"x", x}})["y"];
  const auto expected_few = large.run({{"x", few}})["y"];
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> callers;
    for (int c = 0; c < 4; ++c)
      callers.emplace_back([&, c] {
        for (int i = 0; i < (c % 2 ? 40 : 6); ++i) {
          const auto y = s.run({{"x", c % 2 ? few : x}});
          wrong += is_near(c % 2 ? expected_few : expected, y["y"]) ? 0 : 1;
        }
      });
  }
  BOOST_TEST(wrong == 0);
  BOOST_TEST(s.memory_peak() <= tight);
  BOOST_TEST(s.core()->ledger().in_use(memory_use::frames) == 0u);
}

BOOST_AUTO_TEST_CASE(closing_a_session_answers_a_cut_request) {
  engine e;
  auto s = e.load(layers(e), within(tight));
  auto running = s.run_async({{"x", random_floats({28'000, width}, 5)}});
  s.close(0s);
  running.wait();
  try {
    static_cast<void>(running.get());
  } catch (const error& f) {
    BOOST_TEST((f.code() == errc::engine_closed));
  }
  auto t = e.load(layers(e), within(tight));
  auto drained = t.run_async({{"x", random_floats({28'000, width}, 5)}});
  t.close(60s);
  BOOST_TEST(drained.get()["y"].tensor().shape()[0] == 28'000);
}

BOOST_AUTO_TEST_CASE(requests_that_wait_run_as_one_batch) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    stepped_engine e{seed};
    auto alone = e->load(layers(*e));
    auto joins = e->load(layers(*e), {.name = "joins", .window = 1, .join_requests = 8});
    const auto expected = [&](std::uint64_t i) {
      auto r = alone.run_async({{"x", random_floats({2, width}, i)}});
      e.settle();
      return r.get()["y"];
    };
    auto first = joins.run_async({{"x", random_floats({2, width}, 99)}}); // so that there is a plan
    e.settle();
    std::vector<pending_result> runs;
    for (std::uint64_t i = 0; i < 11; ++i)
      runs.push_back(joins.run_async({{"x", random_floats({2, width}, i)}}));
    std::mt19937_64 random{seed};
    for (auto steps = random() % 30; steps > 0; --steps)
      e.step();
    runs[5].cancel();
    e.settle();
    for (std::uint64_t i = 0; i < runs.size(); ++i) {
      BOOST_REQUIRE(runs[i].ready());
      if (i != 5)
        BOOST_TEST(largest_difference(runs[i].get()["y"], expected(i)) <= 1e-5);
    }
    BOOST_TEST(joins.explain_cuts().find("are joined, up to 8") != std::string::npos, joins.explain_cuts());
    runs.clear();
    static_cast<void>(first.get());
    e.settle();
    BOOST_TEST(joins.core()->at_rest());
    BOOST_TEST(joins.core()->ledger().in_use(memory_use::frames) == 0u);
    BOOST_TEST(joins.core()->ledger().in_use(memory_use::held) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_request_that_fails_does_not_fail_those_it_was_joined_with) {
  stepped_engine e{3};
  auto s = e->load(picky(*e, 4), {.name = "joins", .window = 1, .join_requests = 4});
  const auto index = [](std::int64_t i) { return value{tensor::of<std::int64_t>({1}, {i})}; };
  const auto x = random_floats({1, 4}, 5);
  static_cast<void>(s.run_async({{"x", x}, {"i", index(0)}}));
  e.settle();
  std::vector<pending_result> runs;
  for (std::int64_t i = 0; i < 6; ++i)
    runs.push_back(s.run_async({{"x", x}, {"i", index(i == 3 ? 77 : i % 4)}}));
  e.settle();
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (i == 3)
      BOOST_CHECK_EXCEPTION(runs[i].get(), error, [](const error& f) {
        return f.code() == errc::kernel_failed && std::string{f.what()}.find("77") != std::string::npos;
      });
    else
      BOOST_TEST(runs[i].get()["y"].tensor().shape()[0] == 1);
  BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(requests_that_cannot_be_joined_run_one_by_one) {
  stepped_engine e{4};
  auto g = e->builder();
  const auto x = g.placeholder<float>("x", {"N", 4});
  g.output("y", g.op("ReduceSum", {x}, {{"keepdims", std::int64_t{0}}}, "total"));
  auto s = e->load(g.build("mixing"), {.name = "joins", .window = 1, .join_requests = 4});
  std::vector<pending_result> runs;
  for (int i = 0; i < 6; ++i)
    runs.push_back(s.run_async({{"x", random_floats({2, 4}, 5)}}));
  e.settle();
  for (auto& r : runs)
    BOOST_TEST(r.get()["y"].tensor().elements() == 1);
  BOOST_TEST(s.explain_cuts().find("not joined: node ReduceSum 'total'") != std::string::npos,
             s.explain_cuts());
}

BOOST_AUTO_TEST_CASE(a_schedule_runs_every_item_once_and_finds_the_best_size) {
  std::mt19937_64 random{3};
  for (int round = 0; round < 200; ++round) {
    const auto items = static_cast<std::int64_t>(2 + random() % 5'000);
    batch_split split{
        .in_flight = static_cast<std::uint32_t>(1 + random() % 4), .items = 16, .worth_try = {4, 16, 64}};
    cut_schedule schedule{items, 1};
    std::vector<int> ran(static_cast<std::size_t>(items), 0);
    std::vector<cut_schedule::part> flying;
    cut_schedule::time_point now{};
    while (!schedule.finished()) {
      while (schedule.next_items())
        flying.push_back(schedule.start(now));
      BOOST_REQUIRE(!flying.empty());
      const auto at = random() % flying.size();
      const auto p = flying[at];
      flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(at));
      now += std::chrono::microseconds{p.items * (p.items == 64 ? 100 : 200)};
      if (random() % 50 == 0 && schedule.too_large(p))
        continue;
      for (auto i = p.first; i < p.first + p.items; ++i)
        ++ran[static_cast<std::size_t>(i)];
      if (schedule.undecided())
        schedule.decide(split);
      schedule.succeeded(p, now);
    }
    BOOST_TEST(std::all_of(ran.begin(), ran.end(), [](int n) { return n == 1; }));
  }
  cut_schedule schedule{100'000, 4};
  const batch_split split{.in_flight = 1, .items = 16, .worth_try = {4, 16, 64}};
  cut_schedule::time_point now{};
  while (!schedule.finished()) {
    const auto p = schedule.start(now);
    now += std::chrono::microseconds{p.items * (p.items == 64 ? 100 : 200)};
    if (schedule.undecided())
      schedule.decide(split);
    schedule.succeeded(p, now);
  }
  BOOST_TEST(schedule.search().items() == 64);
}

BOOST_AUTO_TEST_SUITE_END()
