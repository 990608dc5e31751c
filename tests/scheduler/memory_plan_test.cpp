#include "memory_graphs.hpp"

#include <sluice/graph/error.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

/// Steps 0..2 make buffers of these bytes, in a chain.
memory_graph chain(std::vector<std::uint64_t> bytes) {
  memory_graph g;
  for (memory_graph::index i = 0; i < bytes.size(); ++i) {
    g.buffers.push_back({bytes[i]});
    g.steps.push_back({.makes = {i}, .reads = {}, .after = {}, .in_place = {}});
    if (i > 0)
      g.steps[i].reads = {i - 1};
  }
  return g;
}

/// Lanes that deal out the steps in turn, as listed.
step_schedule dealt(const memory_graph& g, std::size_t lanes) {
  step_schedule made;
  made.lanes.resize(lanes);
  for (memory_graph::index s = 0; s < g.steps.size(); ++s)
    made.lanes[s % lanes].push_back(s);
  return made;
}

double ratio(const memory_plan& p) {
  return p.least_bytes == 0 ? 1 : static_cast<double>(p.bytes) / static_cast<double>(p.least_bytes);
}

} // namespace

BOOST_AUTO_TEST_SUITE(memory_plan_test)

BOOST_AUTO_TEST_CASE(without_steps_or_buffers_there_is_no_arena) {
  const memory_graph nothing;
  BOOST_TEST(plan_memory(nothing, unrestricted_order()).bytes == 0u);
  BOOST_TEST(plan_memory(nothing, listed_order(nothing)).bytes == 0u);
  memory_graph steps;
  steps.steps.resize(3);
  BOOST_TEST(plan_memory(steps, unrestricted_order()).bytes == 0u);
  BOOST_TEST(plan_memory(steps, listed_order(steps)).bytes == 0u);
}

BOOST_AUTO_TEST_CASE(sizes_are_rounded_to_64_bytes) {
  for (const auto& [bytes, arena] : {std::pair{0u, 0u}, {1u, 64u}, {64u, 64u}, {65u, 128u}}) {
    const auto g = chain({bytes});
    const auto p = plan_memory(g, unrestricted_order());
    BOOST_TEST(p.bytes == arena);
    BOOST_TEST(p.offsets[0] == (bytes == 0 ? memory_plan::not_placed : 0u));
  }
}

BOOST_AUTO_TEST_CASE(a_chain_needs_its_two_largest_neighbours) {
  const auto g = chain({640, 1280, 320, 320, 64});
  for (const auto& allowed : {unrestricted_order(), listed_order(g), dealt(g, 2)}) {
    const auto p = plan_memory(g, allowed);
    BOOST_TEST(p.bytes == 1920u);
    BOOST_TEST(p.least_bytes == 1920u);
  }
}

BOOST_AUTO_TEST_CASE(what_leaves_is_not_in_the_arena) {
  auto g = chain({640, 1280, 320});
  g.buffers[1].leaves = true;
  const auto p = plan_memory(g, unrestricted_order());
  BOOST_TEST(p.bytes == 640u);
  BOOST_TEST(p.offsets[1] == memory_plan::not_placed);
  BOOST_TEST(p.offsets[2] == 0u);
}

BOOST_AUTO_TEST_CASE(an_output_stands_in_its_inputs_bytes_where_that_is_permitted) {
  auto g = chain({640, 640, 640});
  g.steps[1].in_place = {{1, 0}};
  g.steps[2].in_place = {{2, 1}};
  auto p = plan_memory(g, unrestricted_order());
  BOOST_TEST(p.bytes == 640u);
  BOOST_TEST(p.takes_over[2] == 1u);
  g.buffers[2].bytes = 64; // sizes differ
  p = plan_memory(g, unrestricted_order());
  BOOST_TEST(p.takes_over[2] == memory_graph::none);
  BOOST_TEST(p.bytes == 704u);
  g.buffers[0].leaves = true; // the caller's
  BOOST_TEST(plan_memory(g, unrestricted_order()).takes_over[1] == memory_graph::none);
}

BOOST_AUTO_TEST_CASE(bytes_that_another_step_may_still_read_are_not_taken_over) {
  // 0 is read by 1, in place, and by 2.
  auto g = chain({640, 640, 640});
  g.steps[1].in_place = {{1, 0}};
  g.steps[2].reads = {0};
  BOOST_TEST(plan_memory(g, unrestricted_order()).takes_over[1] == memory_graph::none);
  BOOST_TEST(plan_memory(g, listed_order(g)).takes_over[1] == memory_graph::none);
  BOOST_TEST(plan_memory(g, {.lanes = {{0, 2, 1}}, .waits = {}}).takes_over[1] == 0u);
  BOOST_TEST(plan_memory(g, {.lanes = {}, .waits = {{2, 1}}}).takes_over[1] == 0u);
}

BOOST_AUTO_TEST_CASE(the_bytes_of_one_input_serve_one_output) {
  memory_graph g;
  g.buffers = {{640}, {640}, {640}};
  g.steps = {{.makes = {0}, .reads = {}, .after = {}, .in_place = {}},
             {.makes = {1, 2}, .reads = {0}, .after = {}, .in_place = {{1, 0}, {2, 0}}}};
  const auto p = plan_memory(g, unrestricted_order());
  BOOST_TEST(p.takes_over[1] == 0u);
  BOOST_TEST(p.takes_over[2] == memory_graph::none);
  BOOST_TEST(p.bytes == 1280u);
}

BOOST_AUTO_TEST_CASE(huge_sizes_are_laid_out_or_refused) {
  constexpr auto half = std::uint64_t{1} << 62;
  const auto p = plan_memory(chain({half, half, half - 1}), unrestricted_order());
  BOOST_TEST(p.bytes == 2 * half);
  for (const auto& sizes :
       {std::vector<std::uint64_t>{~std::uint64_t{0}}, std::vector<std::uint64_t>{half, half, half, half}})
    BOOST_CHECK_EXCEPTION(static_cast<void>(plan_memory(chain(sizes), unrestricted_order())), error,
                          says(errc::out_of_memory, "more than 2^64 bytes"));
}

BOOST_AUTO_TEST_CASE(what_is_no_memory_graph_is_refused) {
  const auto refused = [](const memory_graph& g, const step_schedule& allowed, const char* why) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(plan_memory(g, allowed)), error,
                          says(errc::invalid_argument, why));
  };
  const auto good = chain({64, 64, 64});
  auto g = good;
  g.steps[1].reads = {7};
  refused(g, {}, "step 1 of a memory graph reads a buffer that is not there");
  g.steps[1].reads = {2};
  refused(g, {}, "step 1 of a memory graph comes before a step that it waits for");
  g = good;
  g.steps[1].after = {1};
  refused(g, {}, "comes before a step that it waits for");
  g = good;
  g.steps[1].makes = {0};
  refused(g, {}, "makes a buffer that another makes");
  g.steps[1].makes = {3};
  refused(g, {}, "makes a buffer that is not there");
  g.steps[1].makes = {};
  refused(g, {}, "no step makes buffer 1");
  g = good;
  g.steps[1].in_place = {{1, 2}};
  refused(g, {}, "works in place on buffers that it does not make and read");
  refused(good, {.lanes = {{0, 1}}, .waits = {}}, "leave out steps");
  refused(good, {.lanes = {{0, 1, 1}}, .waits = {}}, "name step 1 twice");
  refused(good, {.lanes = {{0, 1, 3}}, .waits = {}}, "name step 3, which is not there");
  refused(good, {.lanes = {{0, 2, 1}}, .waits = {}}, "contradicts the data dependencies");
  refused(good, {.lanes = {}, .waits = {{2, 1}}}, "contradicts the data dependencies");
  refused(good, {.lanes = {}, .waits = {{2, 3}}}, "waits for a step that is not there");
}

BOOST_AUTO_TEST_CASE(no_two_buffers_alive_at_once_overlap_in_any_allowed_schedule) {
  std::mt19937_64 random{7};
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    const auto g = random_memory_graph(seed, 5 + seed % 60, 2 + seed % 9);
    auto waiting = unrestricted_order();
    for (int i = 0; i < 10; ++i) {
      const auto a = static_cast<memory_graph::index>(random() % g.steps.size());
      const auto b = static_cast<memory_graph::index>(random() % g.steps.size());
      if (a < b)
        waiting.waits.emplace_back(a, b);
    }
    for (const auto& allowed : {unrestricted_order(), waiting, listed_order(g), dealt(g, 2), dealt(g, 3)}) {
      const auto p = plan_memory(g, allowed);
      std::size_t wrong = 0;
      for (int i = 0; i < 10; ++i)
        wrong += mistakes(g, allowed, p, random);
      BOOST_REQUIRE_MESSAGE(wrong == 0, wrong << " mistakes with seed " << seed);
      BOOST_REQUIRE(p.bytes >= p.least_bytes);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_layout_of_too_few_bytes_is_found_out) { // by the test above
  std::mt19937_64 random{7};
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto g = random_memory_graph(seed, 40);
    const auto p = plan_memory(g, listed_order(g));
    for (int i = 0; i < 20; ++i)
      found += mistakes(g, unrestricted_order(), p, random) > 0 ? 1 : 0;
  }
  BOOST_TEST(found > 200u);
}

BOOST_AUTO_TEST_CASE(the_bound_is_the_heaviest_set_that_may_be_alive_at_once) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto g = random_memory_graph(seed, 8 + seed % 14, 2 + seed % 5);
    for (const auto& allowed : {unrestricted_order(), listed_order(g), dealt(g, 2)}) {
      BOOST_REQUIRE(least_memory(g, allowed) == least_memory_by_trying(g, allowed));
      BOOST_REQUIRE(least_memory(g, allowed) == plan_memory(g, allowed).least_bytes);
    }
  }
}

BOOST_AUTO_TEST_CASE(arenas_are_near_the_bound_on_random_graphs) {
  std::size_t all = 0;
  std::size_t near = 0;
  double worst = 1;
  for (std::uint64_t seed = 1000; seed < 1080; ++seed) {
    const auto g = random_memory_graph(seed, 60 + seed % 91, 3 + seed % 12);
    for (const auto& allowed : {unrestricted_order(), listed_order(g), dealt(g, 2)}) {
      const auto r = ratio(plan_memory(g, allowed));
      ++all;
      near += r <= 1.05 ? 1 : 0;
      worst = std::max(worst, r);
    }
  }
  BOOST_TEST_MESSAGE(near << " of " << all << " within 1.05, worst " << worst);
  BOOST_TEST(near * 10 >= all * 9);
  BOOST_TEST(worst <= 1.2);
}

BOOST_AUTO_TEST_CASE(arenas_are_near_the_bound_on_nets) {
  for (const auto& g : {branching_net(9, 4), branching_net(3, 8), dense_net(4, 6), dense_net(2, 24),
                        residual_net(16), branching_net(100, 6)})
    for (const auto& allowed : {unrestricted_order(), listed_order(g), dealt(g, 2)}) {
      const auto p = plan_memory(g, allowed);
      BOOST_TEST(ratio(p) <= 1.05, g.steps.size() << " steps: " << ratio(p));
    }
}

BOOST_AUTO_TEST_CASE(the_same_graph_gets_the_same_plan) {
  for (const auto& g : {random_memory_graph(3, 100), dense_net(3, 8)}) {
    const auto once = plan_memory(g, unrestricted_order());
    const auto again = plan_memory(g, unrestricted_order());
    BOOST_TEST(once.offsets == again.offsets, boost::test_tools::per_element());
    BOOST_TEST(once.takes_over == again.takes_over, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(many_steps_in_several_branches_are_refused_in_one_they_are_not) {
  const auto g = chain(std::vector<std::uint64_t>(step_precedence::most_steps + 1, 64));
  BOOST_TEST(plan_memory(g, listed_order(g)).bytes == 128u);
  BOOST_CHECK_EXCEPTION(static_cast<void>(plan_memory(g, unrestricted_order())), error,
                        says(errc::unsupported, "too many for a memory plan of several branches"));
}

BOOST_AUTO_TEST_SUITE_END()
