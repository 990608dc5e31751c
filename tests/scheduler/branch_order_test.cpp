#include "memory_graphs.hpp"

#include <sluice/graph/error.hpp>
#include <sluice/scheduler/branch_order.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace sluice;
using namespace sluice::test;

namespace {

/// When all have ended if each step begins as soon as the schedule lets it.
double time_of(const memory_graph& g, const step_schedule& allowed) {
  const auto links = link(g);
  const step_precedence precedence{links, allowed};
  std::vector<double> end(g.steps.size(), 0);
  for (const auto s : precedence.order()) {
    for (const auto b : precedence.direct()[s])
      end[s] = std::max(end[s], end[b]);
    end[s] += g.steps[s].ns;
  }
  return end.empty() ? 0 : *std::max_element(end.begin(), end.end());
}

} // namespace

BOOST_AUTO_TEST_SUITE(branch_order_test)

BOOST_AUTO_TEST_CASE(its_arena_is_safe_and_its_time_and_memory_are_as_stated) {
  std::mt19937_64 random{3};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto g = random_memory_graph(seed, 5 + seed * 2, 2 + seed % 9);
    const auto serial = best_serial_order(g);
    for (const unsigned lanes : {1u, 2u, 3u}) {
      const auto branches = best_branch_order(g, serial, lanes);
      BOOST_REQUIRE(branches.schedule.lanes.size() == lanes);
      BOOST_REQUIRE(least_memory(g, branches.schedule) == branches.least_bytes);
      BOOST_REQUIRE(time_of(g, branches.schedule) <= branches.schedule.ns * (1 + 1e-9));
      BOOST_REQUIRE(branches.schedule.ns <= 1.05 * branches.fastest_ns);
      const auto p = plan_memory(g, branches.schedule);
      for (int i = 0; i < 10; ++i)
        BOOST_REQUIRE(mistakes(g, branches.schedule, p, random) == 0u);
    }
  }
}

BOOST_AUTO_TEST_CASE(two_branches_take_less_time_than_one_and_less_memory_than_any_order) {
  const auto g = branching_net(9, 4);
  const auto serial = best_serial_order(g);
  const auto two = best_branch_order(g, serial, 2);
  BOOST_TEST(two.schedule.ns < 0.8 * serial.schedule.ns);
  BOOST_TEST(two.least_bytes <= least_memory(g, unrestricted_order()));
}

BOOST_AUTO_TEST_CASE(more_time_may_be_given_for_less_memory) {
  std::size_t less = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto g = random_memory_graph(seed, 80, 8);
    const auto serial = best_serial_order(g);
    const auto fast = best_branch_order(g, serial, 2, 1);
    const auto small = best_branch_order(g, serial, 2, 1.5);
    BOOST_REQUIRE(small.least_bytes <= fast.least_bytes + fast.least_bytes / 40);
    less += small.least_bytes < fast.least_bytes ? 1 : 0;
  }
  BOOST_TEST(less >= 10u);
}

BOOST_AUTO_TEST_CASE(steps_without_time_and_graphs_without_steps_are_ordered) {
  const memory_graph nothing;
  BOOST_TEST(best_branch_order(nothing, best_serial_order(nothing), 2).least_bytes == 0u);
  auto g = residual_net(3);
  for (auto& s : g.steps)
    s.ns = 0;
  const auto two = best_branch_order(g, best_serial_order(g), 2);
  BOOST_TEST(two.schedule.ns == 0);
  BOOST_TEST(two.least_bytes == least_memory(g, two.schedule));
  BOOST_CHECK_EXCEPTION(static_cast<void>(best_branch_order(g, best_serial_order(g), 0)), error,
                        says(errc::invalid_argument, "in no branches"));
}

BOOST_AUTO_TEST_SUITE_END()
