#include <sluice/scheduler/stages.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <random>

using namespace sluice;

namespace {

/// Layers in a row: each reads what the one before it made, and has weights of its own.
staged_graph chain(const std::vector<std::uint64_t>& value_bytes, std::uint64_t weight_bytes) {
  staged_graph g;
  g.values.push_back({value_bytes[0], staged_graph::fed, false});
  for (std::uint32_t i = 1; i < value_bytes.size(); ++i) {
    g.values.push_back({value_bytes[i], i - 1, i + 1 == value_bytes.size()});
    g.weights.push_back(weight_bytes);
    g.steps.push_back({.reads = {i - 1}, .makes = {i}, .weights = {i - 1}, .scratch = 0, .ns = 1});
  }
  return g;
}

staged_graph random_graph(std::mt19937_64& random, std::uint32_t steps) {
  staged_graph g;
  g.values.push_back({1 + random() % 50, staged_graph::fed, false});
  for (std::uint32_t s = 0; s < steps; ++s) {
    staged_graph::step step;
    for (auto reads = 1 + random() % 2; reads > 0; --reads)
      step.reads.push_back(static_cast<std::uint32_t>(random() % g.values.size()));
    std::sort(step.reads.begin(), step.reads.end());
    step.reads.erase(std::unique(step.reads.begin(), step.reads.end()), step.reads.end());
    step.makes.push_back(static_cast<std::uint32_t>(g.values.size()));
    step.weights.push_back(static_cast<std::uint32_t>(g.weights.size()));
    step.scratch = random() % 20;
    g.values.push_back({1 + random() % 50, s, s + 1 == steps});
    g.weights.push_back(random() % 100);
    g.steps.push_back(std::move(step));
  }
  return g;
}

std::uint64_t moved_by(const stage_plan& p, std::int64_t items) {
  std::uint64_t moved = 0;
  for (const auto& s : p.stages)
    moved += s.weight_bytes + (s.in_bytes + s.out_bytes) * static_cast<std::uint64_t>(items);
  return moved;
}

} // namespace

BOOST_AUTO_TEST_SUITE(stages)

BOOST_AUTO_TEST_CASE(a_graph_that_fits_is_one_stage) {
  const auto p = plan_stages(chain({10, 20, 30, 5}, 100), {.items = 7, .budget = 1'000});
  BOOST_REQUIRE(p.stages.size() == 1u);
  BOOST_TEST(p.stages[0].weight_bytes == 300u);
  BOOST_TEST(p.stages[0].in_bytes == 10u);
  BOOST_TEST(p.stages[0].out_bytes == 5u);
  BOOST_TEST(p.stages[0].item_bytes == 50u);
  BOOST_TEST(p.stages[0].items == 7);
  BOOST_TEST(p.kept_bytes == 0u);
}

BOOST_AUTO_TEST_CASE(weights_that_exceed_the_budget_come_in_one_stage_after_another) {
  // The narrow place is after the second layer.
  const auto p = plan_stages(chain({100, 80, 4, 80, 40}, 1'000), {.items = 50, .budget = 2'400});
  BOOST_REQUIRE(p.stages.size() == 2u);
  BOOST_TEST(p.stages[0].last == 2u);
  BOOST_TEST(p.kept_bytes == 4u * 50);
  BOOST_TEST(p.moved_bytes == 4'000u + 50 * (100 + 4 + 4 + 40));
  for (const auto& s : p.stages) {
    BOOST_TEST(s.items >= 1);
    BOOST_TEST(s.weight_bytes + static_cast<std::uint64_t>(s.items) * s.item_bytes <= 2'400u);
  }
  BOOST_TEST(to_string(p).find("stage 2: steps 2 to 3") != std::string::npos, to_string(p));
}

BOOST_AUTO_TEST_CASE(what_is_kept_on_the_same_device_takes_from_its_budget) {
  const auto g = chain({100, 80, 4, 80, 40}, 1'000);
  const auto p = plan_stages(g, {.items = 50, .budget = 2'400, .kept_elsewhere = false});
  BOOST_REQUIRE(!p.stages.empty());
  BOOST_TEST(p.moved_bytes == 4'000u); // only weights
  for (const auto& s : p.stages)
    BOOST_TEST(s.weight_bytes + static_cast<std::uint64_t>(s.items) * s.item_bytes + p.kept_bytes <= 2'400u);
  const auto none = plan_stages(g, {.items = 1'000'000, .budget = 2'400, .kept_elsewhere = false});
  BOOST_TEST(none.stages.empty());
  BOOST_TEST(!none.reason.empty());
}

BOOST_AUTO_TEST_CASE(a_step_that_never_fits_is_said) {
  const auto p = plan_stages(chain({10, 20, 30}, 5'000), {.items = 1, .budget = 1'000});
  BOOST_TEST(p.stages.empty());
  BOOST_TEST(p.reason.find("5050 bytes") != std::string::npos, p.reason);
}

BOOST_AUTO_TEST_CASE(no_other_cuts_of_the_order_move_less) {
  std::mt19937_64 random{7};
  for (int round = 0; round < 60; ++round) {
    const auto steps = static_cast<std::uint32_t>(2 + random() % 7);
    const auto g = random_graph(random, steps);
    const auto items = static_cast<std::int64_t>(1 + random() % 5);
    const std::uint64_t budget = 150 + random() % 300;
    const auto p = plan_stages(g, {.items = items, .budget = budget});
    // Every set of cuts, each segment planned by itself as one stage.
    auto least = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t cuts = 0; cuts < 1U << (steps - 1); ++cuts) {
      std::uint64_t moved = 0;
      std::uint32_t first = 0;
      auto fits = true;
      for (std::uint32_t at = 1; at <= steps && fits; ++at) {
        if (at < steps && (cuts >> (at - 1) & 1) == 0)
          continue;
        // The graph without the other segments' steps: what they make is fed, what they read is a result.
        auto part = g;
        for (std::uint32_t s = 0; s < steps; ++s)
          if (s < first || s >= at) {
            for (const auto v : part.steps[s].reads)
              part.values[v].result =
                  part.values[v].result || (s >= at && g.values[v].maker != staged_graph::fed &&
                                            g.values[v].maker >= first && g.values[v].maker < at);
            for (const auto v : part.steps[s].makes)
              part.values[v] = {g.values[v].bytes, staged_graph::fed, false};
          }
        part.steps.erase(part.steps.begin() + at, part.steps.end());
        part.steps.erase(part.steps.begin(), part.steps.begin() + first);
        for (auto& v : part.values)
          if (v.maker != staged_graph::fed)
            v.maker -= first;
        const auto one =
            plan_stages(part, {.items = items, .budget = std::numeric_limits<std::uint64_t>::max() / 2});
        BOOST_REQUIRE(one.stages.size() == 1u);
        fits = one.stages[0].weight_bytes + one.stages[0].item_bytes <= budget;
        moved += moved_by(one, items);
        first = at;
      }
      if (fits)
        least = std::min(least, moved);
    }
    BOOST_TEST(p.stages.empty() == (least == std::numeric_limits<std::uint64_t>::max()));
    if (!p.stages.empty())
      BOOST_TEST(moved_by(p, items) == least);
  }
}

BOOST_AUTO_TEST_SUITE_END()
