#include "tests/scheduler/placement_reference.hpp"
#include "tests/scheduler/placement_replay.hpp"
#include "tests/scheduler/placement_samples.hpp"
#include "tests/support/says.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>
#include <numeric>

using namespace sluice;
using namespace sluice::test;

namespace {

/// Places and checks by replay that the schedule can be carried out and is what it says.
made_placement placed(const placement_problem& p, const placement_options& options = {}) {
  auto answer = place(p, options);
  if (const auto* lack = std::get_if<placement_shortage>(&answer))
    BOOST_FAIL(lack->message(p));
  auto made = std::get<made_placement>(std::move(answer));
  const auto carried_out = replay(p, made);
  BOOST_TEST(carried_out.faults == std::vector<std::string>{}, boost::test_tools::per_element());
  BOOST_TEST(carried_out.finish_ns == made.schedule.finish_ns);
  BOOST_TEST(carried_out.peak_bytes == made.schedule.peak_bytes);
  BOOST_TEST(carried_out.link_bytes == made.schedule.link_bytes);
  return made;
}

std::size_t bytes_over_links(const made_placement& made) {
  return std::accumulate(made.schedule.link_bytes.begin(), made.schedule.link_bytes.end(), std::size_t{0});
}

/// Budgets of `part` of what everything there needs, for all devices but the CPU.
void limit_memory(placement_problem& p, std::size_t part) {
  auto all = p;
  for (auto& step : all.steps)
    if (step.time_ns[1] != placement_problem::no_kernel)
      step.scope = "sim:0";
  const auto need = placed(all, {.effort = 0}).schedule.peak_bytes[1];
  for (std::size_t d = 1; d < p.devices.size(); ++d)
    p.devices[d].budget = need / part;
}

constexpr auto no_kernel = placement_problem::no_kernel;

} // namespace

BOOST_AUTO_TEST_SUITE(placements)

BOOST_AUTO_TEST_CASE(no_steps_make_an_empty_placement) {
  const auto made = placed(two_devices());
  BOOST_TEST(made.places.empty());
  BOOST_TEST(made.schedule.finish_ns == 0);
}

BOOST_AUTO_TEST_CASE(a_step_goes_where_it_finishes_first_transfers_included) {
  auto p = two_devices();
  auto v = add_step(p, "near", {100, 10}, {add_feed(p, 1000)}, 1); // 1000 ns to get there
  p.values[v].result_on = 0;
  v = add_step(p, "far", {5000, 10}, {0}, 1);
  p.values[v].result_on = 0;
  const auto made = placed(p);
  BOOST_TEST(made.places == (std::vector<std::uint32_t>{0, 1}));
  BOOST_TEST(made.schedule.finish_ns == 1011);
  BOOST_TEST(made.decisions[1].finish_ns == (std::vector<double>{5000, 1010}));
}

BOOST_AUTO_TEST_CASE(a_value_is_sent_once_to_a_device_with_several_readers) {
  auto p = two_devices();
  const auto feed = add_feed(p, 100);
  for (const auto* name : {"a", "b", "c"})
    add_step(p, name, {no_kernel, 10}, {feed}, 8);
  const auto made = placed(p);
  BOOST_TEST(made.schedule.transfers.size() == 1);
  BOOST_TEST(made.schedule.link_bytes[0] == 100);
}

BOOST_AUTO_TEST_CASE(transfers_overlap_with_computing) {
  auto p = two_devices();
  auto v = add_feed(p, 100);
  add_step(p, "away", {no_kernel, 100}, {v}, 1);
  add_step(p, "here", {200, no_kernel}, {v}, 1);
  BOOST_TEST(placed(p).schedule.finish_ns == 200);
}

BOOST_AUTO_TEST_CASE(scopes_colocation_and_kernels_decide_before_cost_and_it_is_recorded) {
  auto p = two_devices();
  const auto v = add_feed(p, 8);
  add_step(p, "scoped", {1, 1000}, {v}, 8);
  p.steps.back().scope = "sim";
  add_step(p, "lead", {1000, 1}, {v}, 8);
  p.steps.back().scope = "cpu:0";
  p.steps.back().colocation = "together";
  add_step(p, "follower", {1000, 1}, {v}, 8);
  p.steps.back().colocation = "together";
  add_step(p, "alone", {no_kernel, 1}, {v}, 8);
  add_step(p, "free", {1000, 1}, {v}, 8);
  const auto made = placed(p);
  BOOST_TEST(made.places == (std::vector<std::uint32_t>{1, 0, 0, 1, 1}));
  const auto by = [&](std::size_t s) { return made.decisions[s].by; };
  BOOST_CHECK(by(0) == placed_by::scope);
  BOOST_CHECK(by(1) == placed_by::scope);
  BOOST_CHECK(by(2) == placed_by::colocation);
  BOOST_CHECK(by(3) == placed_by::only_kernel);
  BOOST_CHECK(by(4) == placed_by::cost);
  BOOST_TEST(explain(p, made, 0) == "scoped: sim:0, by its scope 'sim'");
  BOOST_TEST(explain(p, made, 2) == "follower: cpu:0, with its colocation group 'together'");
  BOOST_TEST(explain(p, made, 4).starts_with("free: sim:0, by cost; it would have finished at: cpu:0 "));
}

BOOST_AUTO_TEST_CASE(soft_placement_leaves_a_scope_without_a_kernel_and_says_so_strict_refuses) {
  auto p = two_devices();
  add_step(p, "stray", {1, no_kernel}, {add_feed(p, 8)}, 8);
  p.steps[0].scope = "sim:0";
  const auto made = placed(p);
  BOOST_TEST(made.places[0] == 0);
  BOOST_TEST(made.decisions[0].scope_broken);
  BOOST_TEST(explain(p, made, 0).find("scope 'sim:0' has no kernel for it") != std::string::npos);
  BOOST_CHECK_EXCEPTION(place(p, {.strict = true}), error,
                        says(errc::invalid_argument, {"'stray'", "'sim:0'"}));
  p.steps[0].scope = "cuda";
  BOOST_TEST(placed(p).decisions[0].scope_broken);
  BOOST_CHECK_EXCEPTION(place(p, {.strict = true}), error, says(errc::invalid_argument, {"'cuda'", "sim:0"}));
}

BOOST_AUTO_TEST_CASE(soft_placement_parts_a_group_that_cannot_stay_together_strict_refuses) {
  auto p = two_devices();
  const auto v = add_feed(p, 8);
  add_step(p, "one", {1, no_kernel}, {v}, 8);
  add_step(p, "other", {no_kernel, 1}, {v}, 8);
  p.steps[0].colocation = p.steps[1].colocation = "pair";
  const auto made = placed(p);
  BOOST_TEST(made.places == (std::vector<std::uint32_t>{0, 1}));
  BOOST_TEST(made.decisions[1].colocation_broken);
  BOOST_CHECK_EXCEPTION(place(p, {.strict = true}), error,
                        says(errc::invalid_argument, {"'one'", "'other'", "'pair'"}));
}

BOOST_AUTO_TEST_CASE(a_step_without_any_kernel_is_refused_by_name) {
  auto p = two_devices();
  add_step(p, "nowhere", {no_kernel, no_kernel}, {add_feed(p, 8)}, 8);
  BOOST_CHECK_EXCEPTION(place(p), error, says(errc::invalid_argument, {"'nowhere'", "no kernel"}));
}

BOOST_AUTO_TEST_CASE(a_problem_that_makes_no_sense_is_refused_by_name) {
  const auto refused = [](auto spoil, const char* phrase) {
    auto p = two_devices();
    add_step(p, "step", {1, 1}, {add_feed(p, 8)}, 8);
    spoil(p);
    BOOST_CHECK_EXCEPTION(static_cast<void>(place(p)), error, says(errc::invalid_argument, phrase));
  };
  refused([](auto& p) { p.devices.clear(); }, "no device");
  refused([](auto& p) { p.links.pop_back(); }, "no link from 'sim:0' to 'cpu:0'");
  refused([](auto& p) { p.links[0].bytes_per_ns = 0; }, "bandwidth");
  refused([](auto& p) { p.devices[1].lanes = 0; }, "'sim:0' has no lanes");
  refused([](auto& p) { p.steps[0].time_ns.pop_back(); }, "'step' has 1 times for 2 devices");
  refused([](auto& p) { p.steps[0].time_ns[1] = -1; }, "'step'");
  refused([](auto& p) { p.steps[0].inputs = {1}; }, "reads 'step_out' before it is made");
  refused([](auto& p) { p.steps[0].outputs = {0}; }, "makes 'feed', which is there already");
  refused([](auto& p) { p.steps[0].constants = {0}; }, "constant");
  refused([](auto& p) { p.values[0].fed_on = 7; }, "'feed'");
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_on_the_faster_device_goes_to_the_other) {
  auto p = two_devices();
  auto v = add_feed(p, 8);
  for (auto i = 0; i < 4; ++i) {
    p.constants.push_back({"w" + std::to_string(i), 1000});
    v = add_step(p, "s" + std::to_string(i), {1000, 100}, {v}, 8);
    p.steps.back().constants = {static_cast<std::uint32_t>(i)};
  }
  p.devices[1].budget = 2500;
  const auto made = placed(p);
  BOOST_TEST(std::count(made.places.begin(), made.places.end(), 1U) == 2);
  BOOST_TEST(made.schedule.peak_bytes[1] <= 2500U);
}

BOOST_AUTO_TEST_CASE(a_device_that_keeps_its_values_holds_their_sum) {
  auto p = two_devices();
  auto v = add_feed(p, 100);
  for (auto i = 0; i < 4; ++i)
    v = add_step(p, "s" + std::to_string(i), {100'000, 100}, {v}, 1000);
  p.values[v].result_on = 0;
  p.devices[1].budget = 2200;
  BOOST_TEST(placed(p).places == (std::vector<std::uint32_t>{1, 1, 1, 1}));
  p.devices[1].keeps_values = true;
  const auto answer = place(p);
  BOOST_REQUIRE(std::holds_alternative<made_placement>(answer));
  const auto& made = std::get<made_placement>(answer);
  BOOST_TEST(std::count(made.places.begin(), made.places.end(), 1U) == 2);
  BOOST_TEST(made.schedule.peak_bytes[1] <= 2200U);
}

BOOST_AUTO_TEST_CASE(when_nothing_fits_the_answer_says_which_device_lacks_how_much_for_what) {
  auto p = two_devices();
  p.constants.push_back({"embedding", 5000});
  add_step(p, "look up", {1, 1}, {add_feed(p, 8)}, 300);
  p.steps[0].constants = {0};
  p.steps[0].scratch_bytes = 50;
  p.devices[0].budget = p.devices[1].budget = 1000;
  p.steps[0].scope = "cpu";
  const auto answer = place(p);
  BOOST_REQUIRE(std::holds_alternative<placement_shortage>(answer));
  const auto& lack = std::get<placement_shortage>(answer);
  BOOST_TEST(lack.device == 0);
  BOOST_TEST(lack.peak_bytes == 5350);
  BOOST_TEST(lack.lacking_bytes == 4350);
  BOOST_REQUIRE(lack.holders.size() == 3);
  BOOST_TEST(lack.holders[0].name == "embedding");
  BOOST_TEST(lack.holders[2].name == "scratch space of 'look up'");
  const auto text = lack.message(p);
  BOOST_TEST(text.find("cpu:0 lacks 4350 bytes") != std::string::npos);
  BOOST_TEST(text.find("embedding (5000)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_same_problem_gives_the_same_placement) {
  const auto p = random_problem({.steps = 60, .devices = 3}, 5);
  const auto first = placed(p);
  const auto second = placed(p);
  BOOST_TEST(first.places == second.places);
  BOOST_TEST(first.schedule.order == second.schedule.order);
}

BOOST_AUTO_TEST_CASE(a_small_graph_finishes_within_a_twentieth_of_the_optimum) {
  for (const auto speed : {1.0, 3.0, 10.0})
    for (const auto bytes_per_ns : {0.1, 1.0, 10.0})
      for (const auto lanes : {1U, 2U})
        for (auto seed = 0U; seed < 5; ++seed) {
          const auto p = random_problem(
              {.steps = 8, .speed = speed, .bytes_per_ns = bytes_per_ns, .lanes = lanes}, seed);
          BOOST_TEST(placed(p, {.effort = 8'000'000}).schedule.finish_ns <= 1.05 * least_finish(p));
        }
}

BOOST_AUTO_TEST_CASE(a_larger_graph_finishes_within_a_twentieth_of_plain_heft) {
  for (const auto steps : {40U, 300U, 2000U})
    for (const auto devices : {2U, 3U})
      for (const auto bytes_per_ns : {1.0, 10.0}) {
        const auto p =
            random_problem({.steps = steps, .devices = devices, .bytes_per_ns = bytes_per_ns}, steps);
        BOOST_TEST(placed(p).schedule.finish_ns <= 1.05 * heft_finish(p));
      }
}

BOOST_AUTO_TEST_CASE(under_budgets_a_schedule_keeps_them_and_beats_the_cpu_alone) {
  for (const auto part : {2U, 4U, 8U})
    for (const auto devices : {2U, 3U})
      for (auto seed = 0U; seed < 5; ++seed) {
        auto p = random_problem({.steps = 80, .devices = devices, .weight_bytes = 1'000'000}, seed);
        limit_memory(p, part);
        auto alone = p;
        for (auto& step : alone.steps)
          step.scope = "cpu";
        const auto made = placed(p);
        BOOST_TEST(made.schedule.finish_ns <= placed(alone).schedule.finish_ns);
      }
}

BOOST_AUTO_TEST_CASE(of_a_small_graph_no_placement_that_finishes_as_early_moves_a_tenth_fewer_bytes) {
  constexpr auto steps = 8U;
  for (const auto limited : {false, true})
    for (auto seed = 0U; seed < 4; ++seed) {
      auto p = random_problem({.steps = steps, .cpu_only = 0, .weight_bytes = 1'000'000}, seed);
      if (limited)
        limit_memory(p, 2);
      const auto made = placed(p);
      auto least = std::numeric_limits<std::size_t>::max();
      for (auto places = 0U; places < 1U << steps; ++places) {
        for (auto s = 0U; s < steps; ++s)
          p.steps[s].scope = p.devices[places >> s & 1U].name;
        const auto other = place(p, {.effort = 100'000});
        if (const auto* fits = std::get_if<made_placement>(&other);
            fits && fits->schedule.finish_ns <= made.schedule.finish_ns)
          least = std::min(least, bytes_over_links(*fits));
      }
      BOOST_TEST(static_cast<double>(bytes_over_links(made)) <= 1.1 * static_cast<double>(least));
    }
}

BOOST_AUTO_TEST_CASE(a_chain_is_parted_at_its_thin_edge) {
  auto p = two_devices();
  auto v = add_feed(p, 100'000);
  for (const auto bytes : {80'000U, 90'000U, 500U, 90'000U, 80'000U, 90'000U}) {
    p.constants.push_back({"weight", 100'000});
    v = add_step(p, "s" + std::to_string(p.steps.size()), {100'000, 10'000}, {v}, bytes);
    p.steps.back().constants = {static_cast<std::uint32_t>(p.constants.size() - 1)};
  }
  p.values[v].bytes = 10;
  p.values[v].result_on = 0;
  p.devices[1].budget = 300'000 + 180'000;
  const auto made = placed(p);
  BOOST_TEST(made.places == (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1}));
  BOOST_TEST(bytes_over_links(made) == 510U);
}

BOOST_AUTO_TEST_CASE(within_the_slack_fewer_bytes_are_preferred) {
  auto sum = std::pair{std::size_t{0}, std::size_t{0}};
  for (auto seed = 0U; seed < 5; ++seed) {
    const auto p = random_problem({.steps = 30}, seed);
    const auto without = placed(p, {.slack = 0});
    const auto with = placed(p, {.slack = 0.2});
    BOOST_TEST(with.schedule.finish_ns <= 1.25 * without.schedule.finish_ns);
    sum.first += bytes_over_links(with);
    sum.second += bytes_over_links(without);
  }
  BOOST_TEST(sum.first < sum.second);
}

BOOST_AUTO_TEST_SUITE_END()
