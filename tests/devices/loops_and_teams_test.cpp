#include "jobs.hpp"

#include <sluice/devices/cpu_threads.hpp>
#include <sluice/graph/error.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;

BOOST_AUTO_TEST_SUITE(loops_and_teams_test)

BOOST_AUTO_TEST_CASE(a_loop_covers_each_index_once_in_chunks_that_depend_on_its_shape_alone) {
  cpu_threads threads{4};
  run_in(*threads.default_pool(), [](worker& here) {
    for (const std::size_t n : {0U, 1U, 7U, 64U, 1000U})
      for (const std::size_t grain : {0U, 1U, 3U, 64U})
        for (const unsigned width : {0U, 1U, 2U, 100U}) {
          std::vector<std::atomic<int>> count(n);
          std::atomic<bool> aligned{true};
          here.parallel_for(n, grain, width, [&](std::size_t begin, std::size_t end) {
            const auto g = std::max<std::size_t>(grain, 1);
            if (begin % g != 0 || end != std::min(n, begin + g))
              aligned = false;
            for (; begin < end; ++begin)
              ++count[begin];
          });
          BOOST_TEST(aligned);
          BOOST_TEST(std::all_of(count.begin(), count.end(), [](const auto& c) { return c == 1; }));
        }
  });
}

BOOST_AUTO_TEST_CASE(an_idle_worker_helps_in_a_loop) {
  cpu_threads threads{2};
  run_in(*threads.default_pool(), [](worker& here) {
    // Until the other worker is at rest and wakes fast enough to get a chunk.
    for (std::array<std::thread::id, 2> ran_on{}; ran_on[0] == ran_on[1];)
      here.parallel_for(2, 1, 2, [&](std::size_t begin, std::size_t) {
        ran_on[begin] = std::this_thread::get_id();
        for (int i = 0; i < 100; ++i)
          std::this_thread::yield();
      });
  });
}

BOOST_AUTO_TEST_CASE(an_exception_in_a_loop_reaches_its_caller) {
  cpu_threads threads{3};
  run_in(*threads.default_pool(), [](worker& here) {
    for (const unsigned width : {1U, 3U})
      BOOST_CHECK_THROW(
          here.parallel_for(100, 1, width,
                            [](std::size_t begin, std::size_t) {
                              if (begin % 3 == 0)
                                throw error{errc::kernel_failed, "index " + std::to_string(begin)};
                            }),
          error);
  });
}

BOOST_AUTO_TEST_CASE(loops_within_loops_and_teams_within_loops_come_to_an_end) {
  cpu_threads threads{3};
  std::atomic<unsigned> count{0};
  run_in(*threads.default_pool(), [&](worker& here) {
    here.parallel_for(20, 1, 3, [&](std::size_t, std::size_t) {
      auto& inner = *worker::current();
      inner.parallel_for(20, 1, 3, [&](std::size_t, std::size_t) { ++count; });
      static_cast<void>(inner.try_team(2, [](unsigned, unsigned) {}));
    });
  });
  BOOST_TEST(count == 400U);
}

BOOST_AUTO_TEST_CASE(a_team_has_exactly_its_size_at_once_or_does_not_begin) {
  cpu_threads threads{3};
  const auto pool = threads.default_pool();
  run_in(*pool, [](worker& here) {
    for (int i = 0; i < 100; ++i)
      for (const unsigned size : {1U, 2U, 3U}) {
        std::latch all{size};
        std::atomic<unsigned> ranks{0}, told{0};
        const auto body = [&](unsigned rank, unsigned of) {
          all.arrive_and_wait();
          told += of == size;
          ranks |= 1U << rank;
        };
        // The members of the last team may still be on their way to rest.
        while (!here.try_team(size, body))
          std::this_thread::yield();
        BOOST_REQUIRE(ranks == (1U << size) - 1);
        BOOST_REQUIRE(told == size);
      }
    BOOST_TEST(!here.try_team(4, [](unsigned, unsigned) { BOOST_ERROR("begun without its members"); }));
    BOOST_TEST(!here.try_team(0, [](unsigned, unsigned) { BOOST_ERROR("begun without its members"); }));
  });
}

BOOST_AUTO_TEST_CASE(the_limit_of_a_pool_holds_for_helpers_too) {
  cpu_threads threads{4};
  const auto pool = threads.private_pool(2);
  gauge busy;
  run_in(*pool, [&](worker& here) {
    BOOST_TEST(!here.try_team(3, [](unsigned, unsigned) {}));
    here.parallel_for(100, 1, 4, [&](std::size_t, std::size_t) { busy.pass(); });
  });
  BOOST_TEST(busy.most() <= 2U);
}

BOOST_AUTO_TEST_CASE(loops_teams_guests_and_jobs_together_stay_within_the_budget) {
  cpu_threads threads{3};
  const std::array pools{threads.default_pool(), threads.private_pool(2)};
  gauge busy;
  std::atomic<unsigned> chunks{0};
  {
    std::vector<std::jthread> callers;
    for (unsigned i = 0; i < 8; ++i)
      callers.emplace_back([&, &pool = *pools[i % 2]] {
        for (int round = 0; round < 100; ++round) {
          std::latch done{1};
          function_job j{[&](worker& here) {
            here.parallel_for(5, 1, 3, [&](std::size_t, std::size_t) {
              busy.pass();
              ++chunks;
            });
            static_cast<void>(here.try_team(2, [&](unsigned, unsigned) { busy.pass(); }));
            done.count_down();
          }};
          if (!pool.try_guest(j))
            pool.submit(j);
          done.wait();
        }
      });
  }
  BOOST_TEST(chunks == 8U * 100 * 5);
  BOOST_TEST(busy.most() <= 3U);
  BOOST_TEST(threads.peak_active() <= 3U);
}

BOOST_AUTO_TEST_SUITE_END()
