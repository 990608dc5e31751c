#include "branching_graph.hpp"

#include <sluice/actors/session_core.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <fstream>
#include <random>
#include <semaphore>
#include <thread>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

std::size_t resident_bytes() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream{"/proc/self/statm"} >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Runs with random fates, at most so many at once, and counts what became of them.
struct storm {
  session& s;
  node_hook& hook;
  static constexpr std::ptrdiff_t most = 64;
  std::counting_semaphore<most> free{most};
  std::atomic<int> right = 0, failed = 0, cancelled = 0, late = 0, other = 0;
  std::mt19937 random{1};

  /// Starts `n` frames and waits for all their outcomes; returns how many there were.
  int run(int n) {
    right = failed = cancelled = late = other = 0;
    std::vector<pending_result> to_cancel;
    for (int i = 0; i < n; ++i) {
      free.acquire();
      const auto fate = random() % 16;
      run_options options;
      if (fate < 2)
        options.deadline = std::chrono::microseconds{random() % 60};
      if (fate == 2)
        options.fetch = {"sum"}; // leaves the node with state out
      auto r = s.run_async({{"x", static_cast<float>(random() % 3)}}, options);
      r.then([this](const values&) { count(right); },
             [this](const error& e) {
               count(e.code() == errc::kernel_failed       ? failed
                     : e.code() == errc::cancelled         ? cancelled
                     : e.code() == errc::deadline_exceeded ? late
                                                           : other);
             });
      if (fate == 3)
        r.cancel();
      else if (fate == 4)
        to_cancel.push_back(r);
      if (to_cancel.size() > 8) {
        for (auto& late_one : to_cancel)
          late_one.cancel();
        to_cancel.clear();
      }
    }
    for (std::ptrdiff_t i = 0; i < most; ++i)
      free.acquire();
    free.release(most);
    return right + failed + cancelled + late + other;
  }

  void count(std::atomic<int>& what) {
    ++what;
    free.release();
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(stress_test)

BOOST_AUTO_TEST_CASE(frames_with_random_fates_have_one_outcome_each_and_leave_nothing_behind) {
  constexpr int frames = sanitized ? 5'000 : 100'000;
  auto e = std::make_unique<engine>();
  const auto hook = std::make_shared<node_hook>();
  const branching_graph graph{*e, hook};
  auto s = e->load(graph.model, {.window = 4});
  const auto weights = e->memory_in_use();
  std::atomic<std::uint32_t> firings = 0;
  *hook = [&](const std::string&) {
    // A multiplicative hash: any node may fail, in a body too.
    if (((firings.fetch_add(1) * 2654435761u) >> 24) == 0)
      throw std::runtime_error{"injected"};
  };
  storm storm{s, *hook};
  BOOST_TEST(storm.run(frames / 5) == frames / 5); // until every cache and thread is there
  const auto before = resident_bytes();
  BOOST_TEST(storm.run(frames) == frames);
  const auto after = resident_bytes();

  BOOST_TEST(storm.other == 0);
  BOOST_TEST(storm.right > frames / 4);
  BOOST_TEST(storm.failed > 0);
  BOOST_TEST(storm.cancelled > 0);
  BOOST_TEST(storm.late > 0);
  s.close();
  BOOST_TEST(s.core()->at_rest());
  BOOST_TEST(s.core()->callbacks_failed() == 0u);
  BOOST_TEST(s.memory_in_use() == weights);
  BOOST_TEST(e->memory_in_use() == weights);
  if (!sanitized)
    BOOST_TEST(after < before + (std::size_t{8} << 20));

  const auto begin = std::chrono::steady_clock::now();
  e.reset();
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 1s)); // nobody is left to be waited for
}

BOOST_AUTO_TEST_CASE(many_callers_cancel_and_stop_at_random) {
  constexpr int rounds = sanitized ? 200 : 3'000;
  engine e;
  const branching_graph graph{e, std::make_shared<node_hook>()};
  auto s = e.load(graph.model, {.window = 4, .queue_limit = 2});
  const auto weights = s.memory_in_use();
  static_cast<void>(s.run({{"x", 1.f}}));
  std::atomic<int> outcomes = 0;
  {
    std::vector<std::jthread> callers;
    for (unsigned t = 0; t < 4; ++t)
      callers.emplace_back([&, t] {
        std::mt19937 random{t};
        for (int i = 0; i < rounds; ++i) {
          std::stop_source stop;
          std::jthread stopper;
          if (random() % 8 == 0)
            stopper = std::jthread{[&stop] { stop.request_stop(); }};
          try {
            static_cast<void>(
                s.run({{"x", 1.f}}, {.deadline = random() % 4 ? 0ns : 30us, .stop = stop.get_token()}));
            ++outcomes;
          } catch (const error& why) {
            outcomes += why.code() == errc::cancelled || why.code() == errc::deadline_exceeded ? 1 : 0;
          }
        }
      });
  }
  BOOST_TEST(outcomes == 4 * rounds);
  s.close();
  BOOST_TEST(s.core()->at_rest());
  BOOST_TEST(s.memory_in_use() == weights);
}

BOOST_AUTO_TEST_CASE(sessions_come_and_go_with_runs_in_flight) {
  engine e;
  const branching_graph graph{e, std::make_shared<node_hook>()};
  std::atomic<int> outcomes = 0;
  int started = 0;
  for (int i = 0; i < (sanitized ? 20 : 200); ++i) {
    auto s = e.load(graph.model);
    for (int k = 0; k < i % 7; ++k) {
      ++started;
      s.run_async({{"x", 1.f}}).then([&](const values&) { ++outcomes; }, [&](const error&) { ++outcomes; });
    }
  }
  while (outcomes < started) // every run keeps its session alive until it has an outcome
    std::this_thread::yield();
  BOOST_TEST(outcomes == started);
}

BOOST_AUTO_TEST_SUITE_END()
