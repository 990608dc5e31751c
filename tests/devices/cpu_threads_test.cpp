#include "jobs.hpp"

#include <sluice/devices/cpu_threads.hpp>
#include <sluice/graph/error.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#  include <immintrin.h>
#endif

using namespace sluice;
using namespace sluice::test;

namespace {

/// Calls of many threads at once, each as a guest if there is room and otherwise by a worker; each offers
/// work.
void storm(const std::vector<std::shared_ptr<executor>>& pools, unsigned callers, unsigned rounds,
           gauge& busy) {
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < callers; ++i)
    threads.emplace_back([&, &pool = *pools[i % pools.size()]] {
      for (unsigned round = 0; round < rounds; ++round) {
        std::latch done{4};
        const auto work = [&](worker&) {
          busy.pass();
          done.count_down();
        };
        std::array branches{function_job{work}, function_job{work}, function_job{work}};
        function_job first{[&](worker& here) {
          for (auto& b : branches)
            here.offer(b);
          work(here);
        }};
        if (!pool.try_guest(first))
          pool.submit(first);
        done.wait();
      }
    });
}

/// A job that offers itself again and again, until it is told to end.
class endless_job {
public:
  explicit endless_job(executor& pool) { pool.submit(job_); }
  ~endless_job() {
    end_ = true;
    ended_.wait();
  }
  endless_job(const endless_job&) = delete;
  endless_job& operator=(const endless_job&) = delete;

private:
  std::atomic<bool> end_{false};
  std::latch ended_{1};
  function_job job_{[this](worker& here) {
    if (end_)
      ended_.count_down();
    else
      here.offer(job_);
  }};
};

} // namespace

BOOST_AUTO_TEST_SUITE(cpu_threads_test)

BOOST_AUTO_TEST_CASE(each_submitted_job_runs_once_and_first_come_first_served_on_one_thread) {
  cpu_threads threads{1};
  const auto pool = threads.default_pool();
  std::vector<int> order;
  std::latch done{100};
  std::vector<function_job> jobs;
  for (int i = 0; i < 100; ++i)
    jobs.emplace_back([&order, &done, i](worker&) {
      order.push_back(i);
      done.count_down();
    });
  for (auto& j : jobs)
    pool->submit(j);
  done.wait();
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  BOOST_TEST((order == expected));
}

BOOST_AUTO_TEST_CASE(an_offered_job_starts_on_another_thread_while_the_offerer_is_busy) {
  cpu_threads threads{2};
  run_in(*threads.default_pool(), [](worker& here) {
    std::latch started{1};
    function_job second{[&](worker& there) {
      BOOST_TEST(&there != &here);
      started.count_down();
    }};
    here.offer(second);
    started.wait();
  });
}

BOOST_AUTO_TEST_CASE(more_offers_than_the_deque_holds_all_run) {
  cpu_threads threads{1};
  std::atomic<unsigned> ran{0};
  const auto count = 10'000U;
  std::latch done{count};
  std::vector<function_job> jobs(count, function_job{[&](worker&) {
                                   ++ran;
                                   done.count_down();
                                 }});
  run_in(*threads.default_pool(), [&](worker& here) {
    for (auto& j : jobs)
      here.offer(j);
  });
  done.wait();
  BOOST_TEST(ran == count);
}

BOOST_AUTO_TEST_CASE(a_guest_runs_what_its_job_offers_before_it_returns) {
  cpu_threads threads{1};
  const auto pool = threads.default_pool();
  std::set<std::thread::id> ran_on;
  function_job second{[&](worker&) { ran_on.insert(std::this_thread::get_id()); }};
  function_job first{[&](worker& here) {
    BOOST_TEST(worker::current() == &here);
    BOOST_TEST(!pool->try_guest(second)); // a worker is not a guest
    here.offer(second);
  }};
  BOOST_TEST(pool->try_guest(first));
  BOOST_TEST((ran_on == std::set{std::this_thread::get_id()}));
  BOOST_TEST(worker::current() == nullptr);
  BOOST_TEST(threads.active() == 0U);
}

BOOST_AUTO_TEST_CASE(a_guest_is_refused_while_the_budget_is_taken) {
  cpu_threads threads{1};
  const auto pool = threads.default_pool();
  std::latch running{1}, end{1}, ended{1};
  function_job occupant{[&](worker&) {
    running.count_down();
    end.wait();
    ended.count_down();
  }};
  function_job guest{[](worker&) {}};
  pool->submit(occupant);
  running.wait();
  BOOST_TEST(!pool->try_guest(guest));
  end.count_down();
  ended.wait();
  while (!pool->try_guest(guest))
    std::this_thread::yield();
}

BOOST_AUTO_TEST_CASE(a_job_submitted_while_a_guest_has_the_last_token_runs_after_it) {
  cpu_threads threads{1};
  const auto pool = threads.default_pool();
  for (int i = 0; i < 200; ++i) {
    std::latch done{1};
    function_job late{[&](worker&) { done.count_down(); }};
    function_job guest{[&](worker&) { pool->submit(late); }};
    while (!pool->try_guest(guest))
      std::this_thread::yield();
    done.wait();
  }
}

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(a_guest_computes_with_default_rounding_and_keeps_its_own) {
  cpu_threads threads{1};
  const auto before = _mm_getcsr();
  const auto of_the_user = before | 0x8040U; // flush to zero, denormals are zero
  _mm_setcsr(of_the_user);
  unsigned inside = 0;
  function_job first{[&](worker&) {
    inside = _mm_getcsr();
    _mm_setcsr(0x1f80 | 0x6000);
  }};
  const bool ran = threads.default_pool()->try_guest(first);
  const auto after = _mm_getcsr();
  _mm_setcsr(before);
  BOOST_TEST(ran);
  BOOST_TEST(inside == 0x1f80U);
  BOOST_TEST(after == of_the_user);
}
#endif

BOOST_AUTO_TEST_CASE(sixty_four_callers_on_a_budget_of_two_never_exceed_it) {
  cpu_threads threads{2};
  gauge busy;
  storm({threads.default_pool()}, 64, 20, busy);
  BOOST_TEST(busy.most() <= 2U);
  BOOST_TEST(threads.peak_active() <= 2U);
}

BOOST_AUTO_TEST_CASE(bursts_and_spinning_stay_within_the_budget) {
  cpu_threads threads{2};
  gauge busy;
  const auto pool = threads.default_pool();
  pool->begin_burst();
  storm({pool}, 8, 100, busy);
  pool->end_burst();
  BOOST_TEST(busy.most() <= 2U);
  BOOST_TEST(threads.peak_active() <= 2U);
}

BOOST_AUTO_TEST_CASE(a_limited_pool_has_at_most_so_many_threads_at_work) {
  cpu_threads threads{4};
  gauge busy;
  storm({threads.private_pool(2)}, 16, 40, busy);
  BOOST_TEST(busy.most() <= 2U);
}

BOOST_AUTO_TEST_CASE(pools_with_all_kinds_of_limits_get_their_work_done_together) {
  cpu_threads threads{3};
  gauge busy;
  storm(
      {threads.default_pool(), threads.private_pool(1), threads.private_pool(2), threads.named_pool("n", 5)},
      16, 60, busy);
  BOOST_TEST(busy.most() <= 3U);
  BOOST_TEST(threads.peak_active() <= 3U);
}

BOOST_AUTO_TEST_CASE(a_pool_that_never_runs_dry_does_not_starve_another) {
  cpu_threads threads{1};
  const auto greedy = threads.private_pool(0);
  const auto modest = threads.private_pool(0);
  const endless_job again{*greedy};
  run_in(*modest, [](worker&) {});
}

BOOST_AUTO_TEST_CASE(submitted_jobs_are_not_starved_by_offered_ones) {
  cpu_threads threads{1};
  const auto pool = threads.default_pool();
  const endless_job again{*pool};
  run_in(*pool, [](worker&) {});
}

BOOST_AUTO_TEST_CASE(one_name_is_one_pool_with_one_limit) {
  cpu_threads threads{2};
  auto pool = threads.named_pool("speech", 1);
  BOOST_TEST(threads.named_pool("speech", 1) == pool);
  BOOST_TEST(threads.named_pool("vision", 1) != pool);
  BOOST_TEST(pool->concurrency() == 1U);
  BOOST_CHECK_EXCEPTION(static_cast<void>(threads.named_pool("speech", 2)), error,
                        says(errc::invalid_argument, "'speech'"));
  pool.reset();
  BOOST_TEST(threads.named_pool("speech", 2)->concurrency() == 2U);
}

BOOST_AUTO_TEST_CASE(the_budget_can_be_asked_and_changed_at_any_time) {
  cpu_threads threads{1};
  const auto pool = threads.default_pool();
  for (const unsigned budget : {3U, 2U, 4U, 1U}) {
    threads.resize(budget);
    BOOST_TEST(threads.budget() == budget);
    BOOST_TEST(pool->concurrency() == budget);
    // As many jobs as the budget allows meet.
    std::latch all{budget}, done{budget};
    std::vector<function_job> jobs(budget, function_job{[&](worker&) {
                                     all.arrive_and_wait();
                                     done.count_down();
                                   }});
    for (auto& j : jobs)
      pool->submit(j);
    done.wait();
  }
  BOOST_CHECK_THROW(threads.resize(100'000), error);
}

BOOST_AUTO_TEST_CASE(resizing_under_load_loses_nothing) {
  cpu_threads threads{2};
  gauge busy;
  std::jthread resizer{[&](const std::stop_token& stop) {
    for (unsigned i = 0; !stop.stop_requested(); ++i) {
      threads.resize(1 + i % 4);
      std::this_thread::yield();
    }
  }};
  storm({threads.default_pool(), threads.private_pool(2)}, 8, 100, busy);
  BOOST_TEST(busy.most() <= 4U);
}

BOOST_AUTO_TEST_CASE(the_end_waits_for_what_is_queued) {
  std::atomic<unsigned> ran{0};
  std::vector<function_job> jobs(1000, function_job{[&](worker&) { ++ran; }});
  std::shared_ptr<executor> pool;
  {
    cpu_threads threads{2};
    pool = threads.default_pool();
    for (auto& j : jobs)
      pool->submit(j);
  }
  BOOST_TEST(ran == 1000U);
  BOOST_CHECK_THROW(pool->submit(jobs[0]), error);
}

BOOST_AUTO_TEST_CASE(a_pool_let_go_runs_what_was_submitted) {
  cpu_threads threads{2};
  std::latch done{100};
  std::vector<function_job> jobs(100, function_job{[&](worker&) { done.count_down(); }});
  auto pool = threads.private_pool(1);
  for (auto& j : jobs)
    pool->submit(j);
  pool.reset();
  done.wait();
}

BOOST_AUTO_TEST_CASE(idle_threads_take_no_tokens) {
  cpu_threads threads{4};
  run_in(*threads.default_pool(), [](worker&) {});
  while (threads.active() != 0)
    std::this_thread::yield();
  threads.reset_peak();
  BOOST_TEST(threads.peak_active() == 0U);
}

BOOST_AUTO_TEST_CASE(the_process_has_one_set_of_threads_sized_by_what_it_may_use) {
  BOOST_TEST(usable_cpus() >= 1U);
  BOOST_TEST(usable_cpus() <= std::thread::hardware_concurrency());
  BOOST_TEST(&cpu_threads::process() == &cpu_threads::process());
  BOOST_TEST(cpu_threads::process().budget() == usable_cpus());
}

BOOST_AUTO_TEST_SUITE_END()
