#include "memory_graphs.hpp"

#include <sluice/scheduler/serial_order.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

/// With this effort nothing is searched exactly.
constexpr order_effort beam_alone{.states = 0};

/// Two chains from a fork to a join, whose buffers grow and shrink against each other as listed.
memory_graph two_chains() {
  memory_graph g;
  const auto add = [&](std::uint64_t units, std::vector<memory_graph::index> reads) {
    const auto b = static_cast<memory_graph::index>(g.buffers.size());
    g.buffers.push_back({units * memory_unit});
    g.steps.push_back({.makes = {b}, .reads = std::move(reads), .after = {}, .in_place = {}});
    return b;
  };
  const auto fork = add(1, {});
  const auto large_a = add(100, {fork});
  const auto large_b = add(100, {fork});
  add(1, {add(1, {large_a}), add(1, {large_b})});
  return g;
}

} // namespace

BOOST_AUTO_TEST_SUITE(serial_order_test)

BOOST_AUTO_TEST_CASE(a_branch_is_finished_before_the_next_begins_where_that_saves_memory) {
  const auto g = two_chains();
  const auto best = best_serial_order(g);
  BOOST_TEST(best.optimal);
  BOOST_TEST(best.peak == 102 * memory_unit);
  BOOST_TEST(least_memory(g, listed_order(g)) == 201 * memory_unit);
  BOOST_TEST(least_memory(g, best.schedule) == best.peak);
}

BOOST_AUTO_TEST_CASE(without_steps_there_is_nothing_to_order) {
  const auto best = best_serial_order({});
  BOOST_TEST(best.peak == 0u);
  BOOST_TEST(best.optimal);
  BOOST_TEST(best.schedule.lanes.at(0).empty());
  memory_graph one;
  one.buffers = {{100}};
  one.steps = {{.makes = {0}, .reads = {}, .after = {}, .in_place = {}}};
  BOOST_TEST(best_serial_order(one).peak == 128u);
}

BOOST_AUTO_TEST_CASE(the_peak_is_the_optimum) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const auto g = random_memory_graph(seed, 4 + seed % 12, 2 + seed % 6);
    const auto best = best_serial_order(g);
    BOOST_REQUIRE(best.optimal);
    BOOST_REQUIRE_MESSAGE(best.peak == best_peak_by_trying(g),
                          best.peak << " instead of " << best_peak_by_trying(g) << " with seed " << seed);
    BOOST_REQUIRE(least_memory(g, best.schedule) == best.peak);
  }
}

BOOST_AUTO_TEST_CASE(an_order_is_valid_and_no_worse_than_the_listed_one) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto g = random_memory_graph(seed, 30 + seed * 3, 2 + seed % 12);
    for (const auto& effort : {order_effort{}, beam_alone, order_effort{.states = 0, .beam = 1}}) {
      const auto best = best_serial_order(g, effort);
      BOOST_REQUIRE(least_memory(g, best.schedule) == best.peak); // throws unless it is valid
      BOOST_REQUIRE(best.peak <= least_memory(g, listed_order(g)));
    }
  }
}

BOOST_AUTO_TEST_CASE(without_the_exact_search_the_peak_is_near_the_optimum) {
  double worst = 1;
  std::size_t proven = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto g = random_memory_graph(seed, 20 + seed * 2, 2 + seed % 5);
    const auto best = best_serial_order(g);
    if (!best.optimal)
      continue;
    ++proven;
    const auto near = best_serial_order(g, beam_alone);
    BOOST_REQUIRE(near.peak >= best.peak);
    worst = std::max(worst, static_cast<double>(near.peak) / static_cast<double>(best.peak));
  }
  BOOST_TEST_MESSAGE(proven << " of 60 are proven optimal; without proof at most " << worst);
  BOOST_TEST(proven >= 30u);
  BOOST_TEST(worst <= 1.02);
}

BOOST_AUTO_TEST_CASE(nets_are_ordered_optimally) {
  for (const auto& g : {branching_net(9, 4), branching_net(100, 4), dense_net(4, 6), residual_net(16)}) {
    const auto best = best_serial_order(g);
    BOOST_TEST(best.optimal, g.steps.size() << " steps");
    BOOST_TEST(best.peak == least_memory(g, best.schedule));
  }
}

BOOST_AUTO_TEST_CASE(the_same_graph_gets_the_same_order) {
  const auto g = random_memory_graph(5, 200, 12);
  BOOST_TEST(best_serial_order(g).schedule.lanes[0] == best_serial_order(g).schedule.lanes[0],
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
