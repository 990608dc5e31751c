#include "gated_graph.hpp"

#include <sluice/actors/session_core.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <thread>

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

/// x → a (+1) → b (+10) → y, and a → c (+100) → z.
std::shared_ptr<const graph> forked(const engine& e) {
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  const auto a = g.function("a", {x}, {scalar}, add_of(1))[0];
  g.output("y", g.function("b", {a}, {scalar}, add_of(10))[0]);
  g.output("z", g.function("c", {a}, {scalar}, add_of(100))[0]);
  return g.build("forked");
}

/// A coroutine that nobody waits for.
struct detached {
  struct promise_type {
    detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

detached await_y(session s, feeds inputs, std::promise<float>& result) {
  const auto results = co_await s.run_async(std::move(inputs));
  result.set_value(number(results["y"]));
}

} // namespace

BOOST_AUTO_TEST_SUITE(session_test)

BOOST_AUTO_TEST_CASE(a_run_gives_all_outputs_by_name) {
  engine e;
  auto s = e.load(forked(e));
  const auto results = s.run({{"x", 1.f}});
  BOOST_TEST(number(results["y"]) == 12);
  BOOST_TEST(number(results["z"]) == 102);
  BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(only_what_a_fetch_needs_is_executed) {
  engine e;
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  std::atomic<int> calls = 0;
  const auto a = g.function("a", {x}, {scalar}, add_of(1))[0];
  g.output("y", g.function("b", {a}, {scalar}, {[&](std::span<value> in, std::span<value> out) {
                             ++calls;
                             out[0] = in[0];
                           }})[0]);
  auto s = e.load(g.build());
  const auto results = s.run({{"x", 1.f}}, {.fetch = {"a"}});
  BOOST_TEST(results.size() == 1u);
  BOOST_TEST(number(results["a"]) == 2);
  BOOST_TEST(calls == 0);
  BOOST_TEST(number(s.run({{"a", 5.f}})["y"]) == 5); // an intermediate value may be fed
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(wrong_feeds_are_refused_with_what_the_graph_takes) {
  engine e;
  auto s = e.load(forked(e));
  BOOST_CHECK_EXCEPTION(s.run({{"w", 1.f}}), error, says(errc::invalid_argument, "inputs are: x"));
  BOOST_CHECK_EXCEPTION(s.run({}), error, says(errc::invalid_argument, "'x' is not fed"));
  BOOST_CHECK_EXCEPTION(s.run({{"x", std::int64_t{1}}}), error,
                        says(errc::invalid_argument, "takes float32[]"));
  BOOST_CHECK_EXCEPTION(s.run({{"x", 1.f}}, {.fetch = {"q"}}), error,
                        says(errc::invalid_argument, {"'q'", "outputs are: y, z"}));
  BOOST_TEST(number(s.run({{"x", 1.f}})["y"]) == 12);
}

BOOST_AUTO_TEST_CASE(an_error_names_the_node_and_fails_its_frame_only) {
  engine e;
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  g.output("y", g.function("picky", {x}, {scalar}, {[](std::span<value> in, std::span<value> out) {
                             if (number(in[0]) < 0)
                               throw std::runtime_error{"negative"};
                             out[0] = in[0];
                           }})[0]);
  auto s = e.load(g.build());
  BOOST_CHECK_EXCEPTION(s.run({{"x", -1.f}}), error, says(errc::kernel_failed, "function 'picky': negative"));
  BOOST_TEST(number(s.run({{"x", 1.f}})["y"]) == 1);
  BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(an_asynchronous_run_is_answered_by_future_callback_and_coroutine) {
  engine e;
  auto s = e.load(forked(e));
  BOOST_TEST(number(s.run_async({{"x", 1.f}}).get()["y"]) == 12);

  std::promise<float> called;
  s.run_async({{"x", 2.f}}).then([&](values v) { called.set_value(number(v["y"])); });
  BOOST_TEST(called.get_future().get() == 13);

  std::promise<errc> failed;
  s.run_async({{"q", 2.f}}).then([](values) {}, [&](const error& why) { failed.set_value(why.code()); });
  BOOST_TEST((failed.get_future().get() == errc::invalid_argument));

  std::promise<float> resumed;
  await_y(s, {{"x", 3.f}}, resumed);
  BOOST_TEST(resumed.get_future().get() == 14);
}

BOOST_AUTO_TEST_CASE(blocking_on_a_worker_is_refused) {
  engine e;
  auto s = e.load(forked(e));
  std::promise<errc> code;
  s.run_async({{"x", 1.f}}).then([&, s](values) mutable {
    try {
      s.run({{"x", 1.f}});
    } catch (const error& why) {
      code.set_value(why.code());
    }
  });
  BOOST_TEST((code.get_future().get() == errc::blocking_call));
}

BOOST_AUTO_TEST_CASE(many_threads_run_one_session_at_once) {
  engine e;
  auto s = e.load(forked(e));
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 8; ++t)
      callers.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i)
          right += number(s.run({{"x", static_cast<float>(t)}})["z"]) == static_cast<float>(t) + 101 ? 1 : 0;
      });
  }
  BOOST_TEST(right == 1600);
  BOOST_TEST(s.core()->at_rest());
  BOOST_TEST(s.memory_in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(a_function_that_makes_another_type_than_declared_is_named) {
  for (const auto kind : {function_kind::pure, function_kind::stateful, function_kind::blocking}) {
    engine e;
    auto g = e.builder();
    const auto x = g.placeholder("x", scalar);
    g.output("y", g.function("liar", {x}, {scalar},
                             {[](std::span<value>, std::span<value> out) {
                                out[0] = tensor::of_scalar(std::int64_t{3});
                              },
                              kind})[0]);
    auto s = e.load(g.build("lies"));
    BOOST_CHECK_EXCEPTION(s.run({{"x", 1.f}}), error,
                          says(errc::kernel_failed, {"'liar'", "output 0 is int64", "float32"}));
  }
}

BOOST_AUTO_TEST_CASE(options_that_mean_nothing_are_refused) {
  engine_options wrong;
  wrong.memory_budget["gpu"] = 1000;
  BOOST_CHECK_EXCEPTION(engine{wrong}, error, says(errc::invalid_argument, {"'gpu'", "cpu:0"}));
  engine e;
  session_options for_session;
  for_session.memory_budget["cuda:0"] = 1000;
  BOOST_CHECK_EXCEPTION(e.load(forked(e), for_session), error,
                        says(errc::invalid_argument, {"'cuda:0'", "cpu:0"}));
  auto s = e.load(forked(e));
  run_options late;
  late.deadline = -1ms;
  BOOST_CHECK_EXCEPTION(s.run({{"x", 1.f}}, late), error, says(errc::invalid_argument, {"deadline"}));
  const auto results = s.run({{"x", 1.f}});
  BOOST_CHECK_EXCEPTION(static_cast<void>(results.at(2)), error,
                        says(errc::invalid_argument, {"number 2", "there are 2"}));
}

BOOST_AUTO_TEST_CASE(a_value_that_arrives_at_several_inputs_is_let_go_once_for_each) {
  struct tracked {
    explicit tracked(std::atomic<int>& count) : alive(count) { ++alive; }
    ~tracked() { --alive; }
    std::atomic<int>& alive;
  };
  std::atomic<int> alive = 0;
  engine e;
  auto g = e.builder();
  const value_type any{};
  const auto x = g.placeholder("x", any);
  const auto other = g.function("other", {x}, {any}, {[&alive](std::span<value>, std::span<value> out) {
                                  out[0] = value::make_object<tracked>(alive);
                                }})[0];
  // A run of the same value at the start, in the middle and at the end, one that is kept, and one taken.
  const auto met =
      g.function("met", {x, x, other, x, x, x, other, other}, {any},
                 {[](std::span<value> in, std::span<value> out) { out[0] = std::move(in[3]); }})[0];
  g.output("y", g.function("last", {met, other}, {any},
                           {[](std::span<value> in, std::span<value> out) { out[0] = in[0]; }})[0]);
  auto s = e.load(g.build("meeting"));
  for (int i = 0; i < 200; ++i) { // some firings are timed, others are not
    auto results = s.run({{"x", value::make_object<tracked>(alive)}});
    BOOST_TEST(alive == 1);
    BOOST_TEST(results["y"].unique());
  }
  BOOST_TEST(alive == 0);
}

BOOST_AUTO_TEST_CASE(results_are_held_on_the_books_until_the_caller_lets_go) {
  engine e;
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", {1000});
  g.output("y", g.function("copy", {x}, {value_type{element_type::float32, shape{1000}}},
                           {[](std::span<value> in, std::span<value> out) { out[0] = in[0]; }})[0]);
  auto s = e.load(g.build());
  {
    const auto results = s.run({{"x", tensor::make(element_type::float32, {1000})}});
    BOOST_TEST(s.memory_in_use() == 0u); // the caller's own tensor passed through
  }
  BOOST_TEST(s.memory_in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(cancelled_and_late_runs_are_answered_once) {
  engine e;
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  std::promise<void> entered, release;
  auto released = release.get_future().share();
  g.output("y", g.function("gate", {x}, {scalar},
                           {[&, released](std::span<value> in, std::span<value> out) {
                              if (number(in[0]) > 0) {
                                entered.set_value();
                                released.wait();
                              }
                              out[0] = in[0];
                            },
                            function_kind::blocking})[0]);
  auto s = e.load(g.build(), {.window = 1});
  auto first = s.run_async({{"x", 1.f}});
  entered.get_future().wait();
  auto queued = s.run_async({{"x", 0.f}});
  auto late = s.run_async({{"x", 0.f}}, {.deadline = 1ms});
  BOOST_CHECK_EXCEPTION(static_cast<void>(late.get()), error, says(errc::deadline_exceeded));
  queued.cancel();
  BOOST_CHECK_EXCEPTION(static_cast<void>(queued.get()), error, says(errc::cancelled));
  first.cancel();
  BOOST_CHECK_EXCEPTION(static_cast<void>(first.get()), error, says(errc::cancelled));
  release.set_value();
  BOOST_TEST(number(s.run({{"x", 0.f}})["y"]) == 0);
  BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(a_full_queue_is_an_outcome) {
  engine e;
  gated_graph gated{e};
  session_options o;
  o.window = 1;
  o.queue_limit = 1;
  auto s = e.load(gated.model, o);
  auto first = s.run_async({{"x", 1.f}});
  while (s.core()->in_flight() == 0)
    std::this_thread::yield();
  auto second = s.run_async({{"x", 2.f}});
  BOOST_CHECK_EXCEPTION(static_cast<void>(s.run_async({{"x", 3.f}}).get()), error, says(errc::queue_full));
  gated.open();
  BOOST_TEST(number(first.get()["y"]) == 1);
  BOOST_TEST(number(second.get()["y"]) == 2);
}

BOOST_AUTO_TEST_CASE(nodes_with_state_see_frames_in_order) {
  engine e;
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  const auto a = g.function("a", {x}, {scalar}, add_of(0))[0];
  auto seen = std::make_shared<std::vector<float>>();
  g.output("y", g.function("log", {a}, {scalar},
                           {[seen](std::span<value> in, std::span<value> out) {
                              seen->push_back(number(in[0]));
                              out[0] = in[0];
                            },
                            function_kind::stateful})[0]);
  auto s = e.load(g.build());
  std::vector<pending_result> runs;
  s.run({{"x", -1.f}});
  for (int i = 0; i < 300; ++i) {
    runs.push_back(s.run_async({{"x", static_cast<float>(i)}}));
    if (i % 7 == 0)
      runs.push_back(s.run_async({{"x", static_cast<float>(i)}}, {.fetch = {"a"}})); // does not pass the node
  }
  for (auto& r : runs)
    static_cast<void>(r.get());
  BOOST_TEST(seen->size() == 301u);
  BOOST_TEST(std::is_sorted(seen->begin(), seen->end()));
  BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(sessions_of_one_graph_call_a_function_with_state_one_at_a_time) {
  constexpr int runs = 500;
  engine e;
  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  g.output("y", g.function("count", {x}, {scalar},
                           {[calls = 0](std::span<value>, std::span<value> out) mutable {
                              const auto before = calls;
                              std::this_thread::yield(); // for another session, if it were let in
                              calls = before + 1;
                              out[0] = number(static_cast<float>(calls));
                            },
                            function_kind::stateful})[0]);
  const auto model = g.build();
  std::array<std::vector<float>, 2> counted;
  {
    std::vector<std::jthread> callers;
    for (auto& mine : counted)
      callers.emplace_back([&] {
        auto s = e.load(model);
        for (int i = 0; i < runs; ++i)
          mine.push_back(number(s.run({{"x", 0.f}})["y"]));
      });
  }
  std::vector<float> all(2 * runs);
  std::merge(counted[0].begin(), counted[0].end(), counted[1].begin(), counted[1].end(), all.begin());
  for (int i = 0; i < 2 * runs; ++i)
    BOOST_TEST(all[static_cast<std::size_t>(i)] == static_cast<float>(i + 1));
}

BOOST_AUTO_TEST_CASE(results_go_into_the_callers_memory) {
  engine e;
  auto s = e.load(forked(e));
  const value mine = number(0);
  const auto results = s.run_into({{"x", 1.f}}, {{"z", mine}});
  BOOST_TEST(number(mine) == 102);
  BOOST_TEST(results["z"].body() == mine.body());
  BOOST_CHECK_EXCEPTION(s.run_into({{"x", 1.f}}, {{"z", tensor::make(element_type::float32, {2})}}), error,
                        says(errc::invalid_argument, "the caller's buffer is float32[2]"));
}

BOOST_AUTO_TEST_CASE(a_session_outlives_its_engine_and_says_that_it_is_closed) {
  auto e = std::make_unique<engine>();
  auto s = e->load(forked(*e));
  const auto results = s.run({{"x", 1.f}});
  e.reset();
  BOOST_TEST(number(results["y"]) == 12);
  BOOST_CHECK_EXCEPTION(s.run({{"x", 1.f}}), error, says(errc::engine_closed));
}

BOOST_AUTO_TEST_CASE(the_effective_settings_can_be_asked) {
  engine e;
  auto s = e.load(forked(e), {.inter_op_parallelism_threads = 1});
  BOOST_TEST(s.threads().inter_op == 1u);
  BOOST_TEST(s.threads().intra_op == e.cpu_budget());
  auto shared = e.load(forked(e), {.inter_op_parallelism_threads = 1, .pool = "ours"});
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(e.load(forked(e), {.inter_op_parallelism_threads = 2, .pool = "ours"})), error,
      says(errc::invalid_argument, "ours"));
  BOOST_TEST(s.explain("a").find("function 'a'") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
