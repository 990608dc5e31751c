#include <sluice/devices/cpu_threads.hpp>
#include <sluice/graph/error.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <latch>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#  include <immintrin.h>
#endif

using namespace sluice;

namespace {

struct function_job final : job {
  explicit function_job(std::function<void(worker&)> f) : function(std::move(f)) {}
  void run(worker& here) noexcept override { function(here); }
  std::function<void(worker&)> function;
};

/// Submits `f` and waits until it has returned.
void run_in(executor& pool, std::function<void(worker&)> f) {
  std::latch done{1};
  function_job j{[&](worker& here) {
    f(here);
    done.count_down();
  }};
  pool.submit(j);
  done.wait();
}

/// Counts how many are inside at once.
class gauge {
public:
  void enter() {
    const auto now = inside_.fetch_add(1) + 1;
    for (auto seen = most_.load(); seen < now && !most_.compare_exchange_weak(seen, now);) {
    }
  }
  void leave() { inside_.fetch_sub(1); }
  unsigned most() const { return most_; }

private:
  std::atomic<unsigned> inside_{0};
  std::atomic<unsigned> most_{0};
};

/// Something that takes a while, and the compiler cannot leave out.
void compute() {
  static std::atomic<unsigned> sink;
  for (unsigned i = 0; i < 300; ++i)
    sink.store(i, std::memory_order_relaxed);
}

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
          busy.enter();
          compute();
          busy.leave();
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
  std::atomic<bool> end{false};
  std::latch ended{1};
  function_job again{[&](worker& here) {
    if (end)
      ended.count_down();
    else
      here.offer(again);
  }};
  greedy->submit(again);
  run_in(*modest, [](worker&) {});
  end = true;
  ended.wait();
}

BOOST_AUTO_TEST_CASE(submitted_jobs_are_not_starved_by_offered_ones) {
  cpu_threads threads{1};
  const auto pool = threads.default_pool();
  std::atomic<bool> end{false};
  std::latch ended{1};
  function_job again{[&](worker& here) {
    if (end)
      ended.count_down();
    else
      here.offer(again);
  }};
  pool->submit(again);
  run_in(*pool, [](worker&) {});
  end = true;
  ended.wait();
}

BOOST_AUTO_TEST_CASE(one_name_is_one_pool_with_one_limit) {
  cpu_threads threads{2};
  auto pool = threads.named_pool("speech", 1);
  BOOST_TEST(threads.named_pool("speech", 1) == pool);
  BOOST_TEST(threads.named_pool("vision", 1) != pool);
  BOOST_TEST(pool->concurrency() == 1U);
  BOOST_CHECK_EXCEPTION(static_cast<void>(threads.named_pool("speech", 2)), error, [](const error& e) {
    return e.code() == errc::invalid_argument && std::string{e.what()}.find("'speech'") != std::string::npos;
  });
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
    here.parallel_for(100, 1, 4, [&](std::size_t, std::size_t) {
      busy.enter();
      compute();
      busy.leave();
    });
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
              busy.enter();
              compute();
              busy.leave();
              ++chunks;
            });
            static_cast<void>(here.try_team(2, [&](unsigned, unsigned) {
              busy.enter();
              compute();
              busy.leave();
            }));
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
