#include "placed_graphs.hpp"

#include <sluice/actors/session_core.hpp>
#include <sluice/devices/cpu_threads.hpp>
#include <sluice/devices/sim_device.hpp>
#include <sluice/graph/error.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr unsigned callers = 3;
constexpr unsigned frames_each = 8;

/// What a graph gives on the host, by frame.
std::vector<values> expected_of(std::size_t which) {
  engine host;
  const auto g = placed_graphs(host, "", "")[which];
  auto s = host.load(g.model);
  std::vector<values> made;
  for (unsigned i = 0; i < frames_each; ++i)
    made.push_back(s.run({{"x", small_matrix(i)}}, {.fetch = g.fetch}));
  return made;
}

/// How runs of several callers at once ended.
struct tally {
  std::atomic<unsigned> right = 0;
  std::atomic<unsigned> lost = 0;
  std::atomic<unsigned> other = 0;
};

void call(session s, const placed_graph& g, const std::vector<values>& expected, tally& t) {
  for (unsigned i = 0; i < frames_each; ++i)
    try {
      const auto got = s.run({{"x", small_matrix(i)}}, {.fetch = g.fetch});
      auto equal = true;
      for (std::size_t k = 0; k < got.size(); ++k)
        equal = equal && same_bits(got.at(k), expected[i].at(k));
      ++(equal ? t.right : t.other);
    } catch (const error& e) {
      ++(e.code() == errc::device_lost ? t.lost : t.other);
    }
}

void call_from_several_threads(const session& s, const placed_graph& g, const std::vector<values>& expected,
                               tally& t) {
  std::vector<std::jthread> threads;
  for (unsigned c = 0; c < callers; ++c)
    threads.emplace_back([&] { call(s, g, expected, t); });
}

using ledgers = std::vector<std::shared_ptr<memory_ledger>>;

void expect_nothing_left(const ledgers& all) {
  for (const auto& books : all)
    BOOST_TEST(books->in_use() == 0u, books->report());
}

} // namespace

BOOST_AUTO_TEST_SUITE(device_stress_test)

BOOST_AUTO_TEST_CASE(devices_may_be_lost_at_any_moment_under_several_callers) {
  const auto threads = cpu_threads::process().default_pool();
  for (std::size_t which = 0; which < 5; ++which) {
    const auto expected = expected_of(which);
    for (unsigned place = 1; place <= 60; place += 7)
      for (const auto on_loss : {device_loss::fail, device_loss::retry}) {
        engine_options options;
        ledgers books;
        for (const auto i : {0U, 1U}) {
          sim_options failing;
          failing.failures.lost_at = place * (i + 1);
          options.accelerators.push_back(
              std::make_shared<sim_device>("sim:" + std::to_string(i), failing, threads));
          books.push_back(options.accelerators.back()->ledger());
        }
        tally t;
        std::weak_ptr<session_core> core;
        {
          engine e{std::move(options)};
          const auto g = placed_graphs(e, "sim:0", "sim:1")[which];
          auto s = e.load(g.model, {.on_device_loss = on_loss});
          core = s.core();
          books.push_back(s.core()->setup().device);
          call_from_several_threads(s, g, expected, t);
          s.close();
          BOOST_TEST(s.core()->at_rest());
        }
        BOOST_TEST(t.other == 0u);
        BOOST_TEST(t.right + t.lost == callers * frames_each);
        if (on_loss == device_loss::retry)
          BOOST_TEST(t.lost == 0u);
        wait_until_gone(core);
        expect_nothing_left(books);
      }
  }
}

BOOST_AUTO_TEST_CASE(callers_are_answered_by_devices_whose_time_another_thread_moves) {
  const auto clock = sim_clock::make();
  engine_options options;
  ledgers books;
  for (const auto* name : {"sim:0", "sim:1"}) {
    options.accelerators.push_back(std::make_shared<sim_device>(name, sim_options{}, clock));
    books.push_back(options.accelerators.back()->ledger());
  }
  std::vector<std::weak_ptr<session_core>> cores;
  {
    engine e{std::move(options)};
    const std::jthread mover{[&](const std::stop_token& stop) {
      while (!stop.stop_requested())
        if (!clock->step())
          std::this_thread::yield();
    }};
    for (std::size_t which = 0; which < 5; ++which) {
      const auto expected = expected_of(which);
      tally t;
      const auto g = placed_graphs(e, "sim:0", "sim:1")[which];
      auto s = e.load(g.model);
      cores.push_back(s.core());
      call_from_several_threads(s, g, expected, t);
      s.close();
      BOOST_TEST(t.right == callers * frames_each);
    }
  }
  for (const auto& core : cores)
    wait_until_gone(core);
  expect_nothing_left(books);
}

BOOST_AUTO_TEST_SUITE_END()
