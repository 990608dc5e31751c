#include "jobs.hpp"

#include <sluice/devices/blocking_threads.hpp>
#include <sluice/devices/stepped_executor.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

/// The order in which ten jobs, each of which offers another, are stepped.
std::vector<int> order_of(std::uint64_t seed) {
  stepped_executor steps{seed};
  std::vector<int> order;
  std::vector<function_job> jobs;
  jobs.reserve(20);
  for (int i = 0; i < 20; ++i)
    jobs.emplace_back([&, i](worker& here) {
      order.push_back(i);
      if (i < 10)
        here.offer(jobs[static_cast<std::size_t>(i) + 10]);
    });
  for (std::size_t i = 0; i < 10; ++i)
    steps.submit(jobs[i]);
  BOOST_TEST(steps.run_all() == 20U);
  return order;
}

} // namespace

BOOST_AUTO_TEST_SUITE(executors_test)

BOOST_AUTO_TEST_CASE(blocked_jobs_get_a_thread_each_up_to_the_cap) {
  blocking_threads threads{4};
  std::latch all{4}, done{9};
  std::atomic<unsigned> inside{0}, most{0};
  std::vector<function_job> jobs(4, function_job{[&](worker&) {
                                   all.arrive_and_wait(); // needs four threads at once
                                   done.count_down();
                                 }});
  jobs.resize(9, function_job{[&](worker&) {
                most = std::max(most.load(), ++inside);
                --inside;
                done.count_down();
              }});
  for (auto& j : jobs)
    threads.submit(j);
  done.wait();
  BOOST_TEST(threads.size() == 4U);
  BOOST_TEST(most <= 4U);
}

BOOST_AUTO_TEST_CASE(threads_without_work_leave_and_come_back) {
  blocking_threads threads{8, std::chrono::milliseconds{1}};
  for (int round = 0; round < 3; ++round) {
    std::latch done{2};
    std::vector<function_job> jobs(2, function_job{[&](worker&) { done.arrive_and_wait(); }});
    for (auto& j : jobs)
      threads.submit(j);
    done.wait();
    while (threads.size() != 0)
      std::this_thread::yield();
  }
  BOOST_TEST(threads.size() == 0U);
}

BOOST_AUTO_TEST_CASE(the_end_of_blocking_threads_waits_for_what_is_queued) {
  std::atomic<unsigned> ran{0};
  std::vector<function_job> jobs(100, function_job{[&](worker&) { ++ran; }});
  {
    blocking_threads threads{2};
    for (auto& j : jobs)
      threads.submit(j);
    BOOST_TEST(!threads.try_guest(jobs[0]));
  }
  BOOST_TEST(ran == 100U);
}

BOOST_AUTO_TEST_CASE(a_seed_gives_one_order_and_another_seed_another) {
  BOOST_TEST(order_of(1) == order_of(1), boost::test_tools::per_element());
  BOOST_TEST((order_of(1) != order_of(2)));
}

BOOST_AUTO_TEST_CASE(a_stepped_job_runs_when_stepped_and_computes_alone) {
  stepped_executor steps{7};
  bool ran = false;
  function_job j{[&](worker& here) {
    ran = true;
    BOOST_TEST(worker::current() == &here);
    std::size_t sum = 0;
    here.parallel_for(10, 3, 4, [&](std::size_t begin, std::size_t end) { sum += end - begin; });
    BOOST_TEST(sum == 10U);
    BOOST_TEST(here.try_team(1, [](unsigned, unsigned) {}));
    BOOST_TEST(!here.try_team(2, [](unsigned, unsigned) {}));
  }};
  BOOST_TEST(steps.stepped());
  BOOST_TEST(!steps.try_guest(j));
  BOOST_TEST(!steps.step());
  steps.submit(j);
  BOOST_TEST(!ran);
  BOOST_TEST(steps.waiting() == 1U);
  BOOST_TEST(steps.step());
  BOOST_TEST(ran);
  BOOST_TEST(worker::current() == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
