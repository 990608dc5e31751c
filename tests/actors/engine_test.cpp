#include "branching_graph.hpp"
#include "gated_graph.hpp"
#include "outcome.hpp"
#include "stepped_engine.hpp"

#include <sluice/actors/handles.hpp>
#include <sluice/actors/session_core.hpp>
#include <sluice/graph/tensor_block.hpp>

#include <caf/all.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <future>
#include <thread>

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

const std::size_t row_bytes = tensor_block_bytes(1000 * sizeof(float));

/// y = x + x over 1,000 floats: one result in Sluice's memory.
std::shared_ptr<const graph> doubling(const engine& e) {
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", {1000});
  g.output("y", g.add(x, x, "y"));
  return g.build("doubling");
}

value row() {
  auto t = tensor::make(element_type::float32, {1000});
  for (auto& x : t->data<float>())
    x = 1;
  return t;
}

std::string reason(pending_result& r) {
  try {
    static_cast<void>(r.get());
    return "(a result)";
  } catch (const error& e) {
    return std::string{to_string(e.code())} + ": " + e.what();
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(engine_test)

BOOST_AUTO_TEST_CASE(sessions_used_in_turn_do_not_disturb_one_another) {
  engine e;
  std::vector<session> sessions;
  for (int i = 0; i < 3; ++i)
    sessions.push_back(e.load(branching_graph{e, std::make_shared<node_hook>()}.model));
  float before = 0;
  for (int round = 0; round < 50; ++round) {
    for (auto& s : sessions)
      BOOST_TEST(number(s.run({{"x", 1.f}})["y"]) == branching_graph::expected(1, before));
    before += branching_graph::counted(1);
  }
  for (const auto& s : sessions)
    BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(an_engine_lives_in_the_users_own_actor_system) {
  caf::actor_system_config config;
  configure(config);
  caf::actor_system system{config};
  engine e{system};
  auto s = e.load(doubling(e));
  BOOST_TEST(s.run({{"x", row()}})["y"].tensor().data<float>()[0] == 2);
  BOOST_TEST((&e.system() == &system));
}

BOOST_AUTO_TEST_CASE(an_actor_system_that_was_not_configured_is_refused) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  BOOST_CHECK_EXCEPTION(engine{system}, error, says(errc::invalid_argument, "sluice::configure(config)"));
}

BOOST_AUTO_TEST_CASE(a_named_pool_is_shared_and_has_one_size) {
  engine e;
  auto a = e.load(doubling(e), {.inter_op_parallelism_threads = 1, .pool = "shared"});
  auto b = e.load(doubling(e), {.inter_op_parallelism_threads = 1, .pool = "shared"});
  BOOST_TEST((a.core()->setup().threads == b.core()->setup().threads));
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(e.load(doubling(e), {.inter_op_parallelism_threads = 2, .pool = "shared"})), error,
      says(errc::invalid_argument, "shared"));
  auto own = e.load(doubling(e), {.inter_op_parallelism_threads = 1});
  BOOST_TEST((a.core()->setup().threads != own.core()->setup().threads));
  for (auto* s : {&a, &b, &own})
    BOOST_TEST(s->run({{"x", row()}})["y"].tensor().data<float>()[0] == 2);
}

BOOST_AUTO_TEST_CASE(one_value_fetched_by_two_names_goes_by_the_name_that_was_asked_for) {
  engine e;
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  const auto inner = g.function("inner", {x}, {scalar},
                                {[](std::span<value> in, std::span<value> out) { out[0] = in[0]; }})[0];
  g.output("outer", inner);
  g.output("again", inner);
  auto s = e.load(g.build());
  BOOST_TEST(number(s.run({{"x", 1.f}})["again"]) == 1);
  BOOST_TEST(number(s.run({{"x", 2.f}}, {.fetch = {"inner"}})["inner"]) == 2);
  BOOST_TEST(number(s.run({{"x", 3.f}}, {.fetch = {"outer"}})["outer"]) == 3);
  BOOST_TEST(number(s.run({{"x", 4.f}}, {.fetch = {"again", "inner"}})["inner"]) == 4);
}

BOOST_AUTO_TEST_CASE(a_constant_input_that_a_function_overwrites_is_whole_again_in_the_next_frame) {
  engine e;
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  const auto c = g.constant("c", number(10));
  g.output("y", g.function("greedy", {x, c}, {scalar}, {[](std::span<value> in, std::span<value> out) {
                             out[0] = number(number(in[0]) + number(in[1]));
                             in[1] = number(0);
                           }})[0]);
  auto s = e.load(g.build(), {.window = 1});
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(number(s.run({{"x", 1.f}})["y"]) == 11);
  BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(held_results_stay_on_the_books_of_session_and_engine) {
  engine e;
  auto s = e.load(doubling(e));
  static_cast<void>(s.run({{"x", row()}}));
  BOOST_TEST(e.memory_in_use() == 0u);
  {
    const auto held = s.run({{"x", row()}});
    BOOST_TEST(s.memory_in_use() >= row_bytes);
    BOOST_TEST(e.memory_in_use() == s.memory_in_use());
    BOOST_TEST(s.memory_report().find("held by callers 0") == std::string::npos, s.memory_report());
  }
  BOOST_TEST(s.memory_in_use() == 0u);
  BOOST_TEST(e.memory_in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(a_frame_that_never_fits_is_refused_at_once) {
  engine e{{.memory_budget = {{"cpu:0", row_bytes / 2}}}};
  auto s = e.load(doubling(e));
  BOOST_CHECK_EXCEPTION(static_cast<void>(s.run({{"x", row()}})), error,
                        says(errc::out_of_memory, "a frame needs"));
}

BOOST_AUTO_TEST_CASE(frames_wait_for_the_memory_of_others_and_the_budget_is_kept) {
  engine e{{.memory_budget = {{"cpu:0", 3 * row_bytes}}}};
  auto one = e.load(doubling(e), {.window = 8});
  auto two = e.load(doubling(e), {.window = 8});
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 6; ++t)
      callers.emplace_back([&, t] {
        auto& s = t % 2 ? one : two;
        for (int i = 0; i < 200; ++i)
          right += s.run({{"x", row()}})["y"].tensor().data<float>()[999] == 2 ? 1 : 0;
      });
  }
  BOOST_TEST(right == 1200);
  BOOST_TEST(e.memory_peak() <= 3 * row_bytes);
  BOOST_TEST(e.memory_in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(a_run_held_up_by_results_that_callers_keep_fails_after_five_seconds) {
  stepped_engine e{1};
  auto s = e->load(doubling(*e), {.memory_budget = {{"cpu:0", 2 * row_bytes + 500}}});
  outcome first, second, third, impatient;
  watch(first, s.run_async({{"x", row()}}));
  watch(second, s.run_async({{"x", row()}}));
  e.settle();
  BOOST_TEST_REQUIRE(first.count + second.count == 2);
  watch(third, s.run_async({{"x", row()}}));
  watch(impatient, s.run_async({{"x", row()}}, {.deadline = 1s}));
  e.settle();
  BOOST_TEST(third.count == 0);
  e.advance(1s);
  e.settle();
  BOOST_TEST(impatient.count == 1);
  e.advance(3900ms);
  e.settle();
  BOOST_TEST(third.count == 0);
  e.advance(200ms);
  e.settle();
  BOOST_TEST((third.code == errc::out_of_memory));
  BOOST_TEST(third.what.find("results held by callers") != std::string::npos, third.what);
  first.results.reset();
  outcome fourth;
  watch(fourth, s.run_async({{"x", row()}}));
  e.settle();
  BOOST_TEST(fourth.results.has_value());
  BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(a_run_that_waits_for_memory_goes_on_when_a_result_is_let_go) {
  stepped_engine e{1};
  auto s = e->load(doubling(*e), {.memory_budget = {{"cpu:0", row_bytes + 500}}});
  outcome first, second;
  watch(first, s.run_async({{"x", row()}}));
  e.settle();
  watch(second, s.run_async({{"x", row()}}));
  e.settle();
  BOOST_TEST(second.count == 0);
  e.advance(4s);
  e.settle();
  first.results.reset();
  e.settle();
  BOOST_TEST(second.results.has_value());
  e.advance(10s); // the patience of a run ends with its wait
  e.settle();
  BOOST_TEST(second.count == 1);
}

BOOST_AUTO_TEST_CASE(whoever_is_behind_a_run_that_gives_up_waiting_for_memory_gets_its_chance) {
  stepped_engine e{1};
  auto g = e->builder();
  const auto x = g.placeholder<float>("x", {"n"});
  g.output("y", g.add(x, x, "y"));
  auto s = e->load(g.build(), {.memory_budget = {{"cpu:0", 2 * row_bytes}}});
  const value small = tensor::of<float>({2}, {1, 2});
  outcome held, large, behind;
  watch(held, s.run_async({{"x", row()}}));
  watch(behind, s.run_async({{"x", small}})); // makes its plan, too
  e.settle();
  behind = {};
  auto waits = s.run_async({{"x", tensor::make(element_type::float32, {1500})}});
  watch(large, waits);
  e.settle();
  watch(behind, s.run_async({{"x", small}}));
  e.settle();
  BOOST_TEST(large.count + behind.count == 0);
  waits.cancel();
  e.settle();
  BOOST_TEST((large.code == errc::cancelled));
  BOOST_TEST(behind.results.has_value());
}

BOOST_AUTO_TEST_CASE(a_blocking_function_that_throws_fails_its_run_like_any_other) {
  engine e;
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  g.output("y",
           g.function("reader", {x}, {scalar},
                      {[](std::span<value>, std::span<value>) { throw std::runtime_error{"no such file"}; },
                       function_kind::blocking})[0]);
  auto s = e.load(g.build());
  std::promise<errc> code;
  s.run_async({{"x", 1.f}}).then([](const values&) {}, [&](const error& why) { code.set_value(why.code()); });
  BOOST_TEST((code.get_future().get() == errc::kernel_failed));
  BOOST_CHECK_EXCEPTION(s.run({{"x", 1.f}}), error, says(errc::kernel_failed, "'reader': no such file"));
}

BOOST_AUTO_TEST_CASE(a_callback_that_throws_is_counted_and_hurts_nobody) {
  engine e;
  auto s = e.load(doubling(e));
  std::promise<void> called;
  s.run_async({{"x", row()}}).then([&](const values&) {
    called.set_value();
    throw std::runtime_error{"not my day"};
  });
  called.get_future().wait();
  for (int i = 0; i < 10; ++i)
    static_cast<void>(s.run({{"x", row()}}));
  s.close();
  while (s.core()->callbacks_failed() == 0) // counted after the callback has thrown
    std::this_thread::yield();
  BOOST_TEST(s.core()->callbacks_failed() == 1u);
}

BOOST_AUTO_TEST_CASE(a_second_callback_for_one_result_is_refused) {
  stepped_engine e{1};
  auto s = e->load(doubling(*e));
  auto r = s.run_async({{"x", row()}});
  r.then([](const values&) {});
  BOOST_CHECK_EXCEPTION(r.then([](const values&) {}), error, says(errc::invalid_argument));
  e.settle();
}

BOOST_AUTO_TEST_CASE(an_engine_may_end_on_another_thread_than_it_was_made_on) {
  std::promise<std::unique_ptr<engine>> made;
  std::promise<void> ended;
  std::jthread maker{[&] {
    auto e = std::make_unique<engine>();
    static_cast<void>(e->load(doubling(*e)).run({{"x", row()}}));
    made.set_value(std::move(e));
    ended.get_future().wait(); // lives on while the engine ends
  }};
  made.get_future().get().reset();
  ended.set_value();
}

BOOST_AUTO_TEST_CASE(a_session_may_be_closed_by_its_own_callback) {
  engine e;
  auto s = e.load(doubling(e));
  std::promise<void> closed;
  s.run_async({{"x", row()}}).then([&, s](const values&) mutable {
    s.close();
    closed.set_value();
  });
  closed.get_future().wait();
  BOOST_CHECK_EXCEPTION(static_cast<void>(s.run({{"x", row()}})), error, says(errc::engine_closed));
}

BOOST_AUTO_TEST_CASE(an_endless_deadline_is_one_that_never_comes) {
  engine e;
  auto s = e.load(doubling(e));
  BOOST_TEST(s.run({{"x", row()}}, {.deadline = std::chrono::nanoseconds::max()}).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_deadline_holds_while_the_caller_waits_in_line) {
  engine e;
  gated_graph gated{e};
  auto s = e.load(gated.model, {.window = 1, .queue_limit = 1});
  auto first = s.run_async({{"x", 1.f}});
  while (s.core()->in_flight() == 0)
    std::this_thread::yield();
  auto queued = s.run_async({{"x", 2.f}});
  BOOST_CHECK_EXCEPTION(s.run({{"x", 3.f}}, {.deadline = 5ms}), error, says(errc::deadline_exceeded));
  std::stop_source stop;
  auto in_line = std::async(std::launch::async, [&] {
    try {
      static_cast<void>(s.run({{"x", 3.f}}, {.stop = stop.get_token()}));
    } catch (const error& why) {
      return why.code();
    }
    return errc::invalid_argument;
  });
  stop.request_stop();
  BOOST_TEST((in_line.get() == errc::cancelled));
  gated.open();
  BOOST_TEST(number(queued.get()["y"]) == 2);
}

BOOST_AUTO_TEST_CASE(after_its_engine_a_session_answers_closed_with_any_options) {
  auto e = std::make_unique<engine>();
  auto s = e->load(doubling(*e));
  static_cast<void>(s.run({{"x", row()}}));
  e.reset();
  auto late = s.run_async({{"x", row()}}, {.deadline = 1s});
  BOOST_TEST(reason(late).find("engine_closed") == 0u);
  auto other_plan = s.run_async({{"x", row()}}, {.deadline = 1s, .fetch = {"x"}});
  BOOST_TEST(reason(other_plan).find("engine_closed") == 0u);
  late.cancel();
}

BOOST_AUTO_TEST_SUITE_END()
