#include "branching_graph.hpp"
#include "stepped_engine.hpp"

#include <sluice/actors/session_core.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <set>
#include <utility>

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

/// A run whose outcomes are counted.
struct watched_run {
  int outcomes = 0;
  std::optional<float> y;
  std::optional<errc> code;
  std::string what;

  void watch(pending_result r) {
    r.then(
        [this](values v) {
          ++outcomes;
          y = number(v["y"]);
        },
        [this](const error& e) {
          ++outcomes;
          code = e.code();
          what = e.what();
        });
  }
};

struct fixture {
  explicit fixture(std::uint64_t seed, std::uint32_t window = 4)
    : e(seed), graph(*e, hook), s(e->load(graph.model, {.window = window})) {
    e.settle();
    static_cast<void>(s.run_async({{"x", -1.f}})); // makes the plan, and adds nothing up
    e.settle();
  }

  std::vector<watched_run> start(std::size_t n, const run_options& options = {}) {
    std::vector<watched_run> runs(n);
    for (std::size_t i = 0; i < n; ++i)
      runs[i].watch(s.run_async({{"x", x_of(i)}}, options));
    return runs;
  }

  /// Every other one goes the other way at the If.
  static float x_of(std::size_t i) { return static_cast<float>(i) * (i % 2 ? -1.f : 1.f); }

  std::shared_ptr<node_hook> hook = std::make_shared<node_hook>();
  stepped_engine e;
  branching_graph graph;
  session s;
  const std::size_t weights = s.memory_in_use();
};

std::string inner_name(const std::string& node) {
  return '\'' + node.substr(node.find('/') + 1) + '\'';
}

} // namespace

BOOST_AUTO_TEST_SUITE(stepped_test)

BOOST_AUTO_TEST_CASE(every_order_of_events_gives_the_same_results) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    fixture f{seed};
    const auto runs = f.start(10);
    std::uint32_t most_in_flight = 0;
    do
      most_in_flight = std::max(most_in_flight, f.s.core()->in_flight());
    while (f.e.step());
    BOOST_TEST(most_in_flight == 4u);
    float before = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      BOOST_TEST_CONTEXT("seed " << seed << ", run " << i) {
        BOOST_TEST(runs[i].outcomes == 1);
        BOOST_TEST(runs[i].y.value_or(-1) == branching_graph::expected(fixture::x_of(i), before));
      }
      before += branching_graph::counted(fixture::x_of(i));
    }
    BOOST_TEST(f.s.core()->at_rest());
    BOOST_TEST(f.s.memory_in_use() == f.weights);
  }
}

BOOST_AUTO_TEST_CASE(different_seeds_interleave_frames_differently) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    fixture f{seed};
    std::string order;
    *f.hook = [&](const std::string& node) { order += node + ' '; };
    const auto runs = f.start(4);
    f.e.settle();
    orders.insert(order);
  }
  BOOST_TEST(orders.size() == 10u);
}

BOOST_AUTO_TEST_CASE(a_cancellation_at_any_step_gives_one_outcome_and_leaves_the_others_alone) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    bool too_late = false;
    for (int steps = 0; !too_late; ++steps) {
      fixture f{seed};
      auto runs = f.start(2);
      auto cancelled = f.s.run_async({{"x", 5.f}});
      watched_run third;
      third.watch(cancelled);
      auto fourth = f.start(1);
      for (int i = 0; i < steps; ++i)
        static_cast<void>(f.e.step());
      too_late = third.outcomes > 0;
      cancelled.cancel();
      f.e.settle();
      BOOST_TEST_CONTEXT("seed " << seed << ", step " << steps) {
        BOOST_TEST(third.outcomes == 1);
        BOOST_TEST((third.y || third.code == errc::cancelled));
        BOOST_TEST(runs[0].y.has_value());
        BOOST_TEST(runs[1].y.has_value());
        BOOST_TEST(fourth[0].y.has_value());
        BOOST_TEST(f.s.core()->at_rest());
        BOOST_TEST(f.s.memory_in_use() == f.weights);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_deadline_at_any_step_gives_one_outcome) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    bool too_late = false;
    for (int steps = 0; !too_late; ++steps) {
      fixture f{seed, 2};
      auto runs = f.start(3, {.deadline = 10ms});
      auto patient = f.start(1, {.deadline = 20ms});
      for (int i = 0; i < steps; ++i)
        static_cast<void>(f.e.step());
      too_late = runs[0].outcomes + runs[1].outcomes + runs[2].outcomes == 3;
      f.e.advance(10ms);
      f.e.settle();
      BOOST_TEST_CONTEXT("seed " << seed << ", step " << steps) {
        for (const auto& r : runs) {
          BOOST_TEST(r.outcomes == 1);
          BOOST_TEST((r.y || r.code == errc::deadline_exceeded));
        }
        BOOST_TEST(patient[0].y.has_value());
        BOOST_TEST(f.s.core()->at_rest());
        BOOST_TEST(f.s.memory_in_use() == f.weights);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_fault_at_any_node_fails_its_frames_and_names_the_node) {
  for (const auto& failing : branching_graph::nodes())
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      fixture f{seed};
      bool armed = true;
      *f.hook = [&](const std::string& node) {
        if (armed && node == failing)
          throw std::runtime_error{"injected"};
      };
      const auto runs = f.start(4);
      f.e.settle();
      armed = false;
      const auto after = f.start(1);
      f.e.settle();
      BOOST_TEST_CONTEXT("fault at " << failing << ", seed " << seed) {
        for (std::size_t i = 0; i < runs.size(); ++i) {
          BOOST_TEST(runs[i].outcomes == 1);
          if (failing == "if/grow" && fixture::x_of(i) + 1 <= 0) {
            BOOST_TEST(runs[i].y.has_value()); // it went the other way
            continue;
          }
          BOOST_TEST((runs[i].code == errc::kernel_failed));
          BOOST_TEST(runs[i].what.find(inner_name(failing)) != std::string::npos, runs[i].what);
          BOOST_TEST(runs[i].what.find("injected") != std::string::npos, runs[i].what);
        }
        BOOST_TEST(after[0].y.has_value());
        BOOST_TEST(f.s.core()->at_rest());
        BOOST_TEST(f.s.memory_in_use() == f.weights);
      }
    }
}

BOOST_AUTO_TEST_CASE(of_two_faults_the_topologically_first_is_reported_in_every_order) {
  const auto& nodes = branching_graph::nodes();
  for (const auto& a : nodes)
    for (const auto& b : nodes) {
      if (a >= b)
        continue;
      std::set<std::string> reported;
      std::string first;
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        fixture f{seed};
        const auto place = [&](const std::string& n) { return f.graph.place_of(n); };
        *f.hook = [&](const std::string& node) {
          if (node == a || node == b)
            throw std::runtime_error{"injected"};
        };
        const auto runs = f.start(1);
        f.e.settle();
        BOOST_TEST(runs[0].outcomes == 1);
        reported.insert(runs[0].what);
        first = place(a) < place(b) ? a : b;
        if (place(a) == place(b)) // in one body: by the order there
          first = a == "loop/both" ? b : (a == "loop/one" ? a : b);
        BOOST_TEST(f.s.core()->at_rest());
      }
      BOOST_TEST_CONTEXT("faults at " << a << " and " << b) {
        BOOST_TEST(reported.size() == 1u);
        BOOST_TEST(reported.begin()->find(inner_name(first)) != std::string::npos, *reported.begin());
      }
    }
}

BOOST_AUTO_TEST_CASE(an_output_left_empty_is_the_same_error_in_every_order) {
  std::set<std::string> reported;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    stepped_engine e{seed};
    auto g = e->builder();
    const auto x = g.placeholder("x", scalar);
    const auto a = g.function("silent", {x}, {scalar}, {[](std::span<value>, std::span<value>) {}})[0];
    const auto b =
        g.function("loud", {x}, {scalar},
                   {[](std::span<value>, std::span<value>) { throw std::runtime_error{"loud"}; }})[0];
    g.output("y", g.add(a, b, "y"));
    auto s = e->load(g.build());
    watched_run r;
    r.watch(s.run_async({{"x", 1.f}}));
    e.settle();
    BOOST_TEST(r.outcomes == 1);
    reported.insert(r.what);
    BOOST_TEST(s.core()->at_rest());
  }
  BOOST_TEST(reported.size() == 1u);
  BOOST_TEST(reported.begin()->find("'silent'") != std::string::npos, *reported.begin());
}

BOOST_AUTO_TEST_CASE(a_stop_token_cancels_at_any_step_even_before_the_call) {
  for (int steps = -1; steps < 60; ++steps) {
    fixture f{7};
    std::stop_source stop;
    if (steps < 0)
      stop.request_stop();
    watched_run r;
    r.watch(f.s.run_async({{"x", 1.f}}, {.stop = stop.get_token()}));
    for (int i = 0; i < steps; ++i)
      static_cast<void>(f.e.step());
    stop.request_stop();
    f.e.settle();
    BOOST_TEST_CONTEXT("step " << steps) {
      BOOST_TEST(r.outcomes == 1);
      BOOST_TEST((r.y || r.code == errc::cancelled));
      BOOST_TEST(f.s.core()->at_rest());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_session_closed_at_any_step_answers_everybody) {
  for (int steps = 0; steps < 80; steps += 3) {
    fixture f{static_cast<std::uint64_t>(steps), 2};
    const auto runs = f.start(5);
    std::vector<watched_run> unplanned(1);
    unplanned[0].watch(f.s.run_async({{"x", 1.f}}, {.fetch = {"y", "sum"}}));
    for (int i = 0; i < steps; ++i)
      static_cast<void>(f.e.step());
    while_stepping(f.e.steps(), [&] { f.s.close(0ns); });
    f.e.settle();
    BOOST_TEST_CONTEXT("step " << steps) {
      for (const auto* list : {&runs, &std::as_const(unplanned)})
        for (const auto& r : *list) {
          BOOST_TEST(r.outcomes == 1);
          BOOST_TEST((r.y || r.code == errc::engine_closed));
        }
      BOOST_TEST(f.s.core()->at_rest());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
