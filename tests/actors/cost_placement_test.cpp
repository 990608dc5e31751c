#include "placed_graphs.hpp"

#include <sluice/actors/session_core.hpp>
#include <sluice/devices/cpu_threads.hpp>
#include <sluice/devices/sim_device.hpp>
#include <sluice/graph/tensor.hpp>
#include <sluice/scheduler/placement_file.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::int64_t side = 192;

value square(float first) {
  auto t = tensor::make(element_type::float32, {side, side});
  auto elements = t->data<float>();
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = first + 0.001F * static_cast<float>(i % 7);
  return t;
}

/// Four products of matrices, each with weights of its own: 147 kB.
std::shared_ptr<const graph> products(const engine& e) {
  auto g = e.builder();
  auto x = g.placeholder<float>("x", {side, side});
  for (auto i = 0; i < 4; ++i) {
    const auto name = "product" + std::to_string(i);
    x = g.op("MatMul", {x, g.constant(name + "_weights", square(0.01F * static_cast<float>(i)))}, {}, name);
  }
  g.output("y", x);
  return g.build("products");
}

engine with_accelerator(const char* options) {
  engine_options o;
  o.devices.add_flag("sim:0=rate=1000,bandwidth=1TB/s,latency=1ns" + std::string{options});
  return engine{o};
}

std::size_t on_accelerator(session& s) {
  std::size_t count = 0;
  for (auto i = 0; i < 4; ++i)
    count += s.explain("product" + std::to_string(i)).find("device: sim:0") != std::string::npos;
  return count;
}

} // namespace

BOOST_AUTO_TEST_SUITE(cost_placement_test)

BOOST_AUTO_TEST_CASE(nodes_that_nothing_places_go_where_they_finish_first_and_say_so) {
  auto e = with_accelerator("");
  auto s = e.load(products(e), {.place_by_cost = true});
  const auto result = s.run({{"x", square(1)}});
  BOOST_TEST(on_accelerator(s) == 4u);
  const auto told = s.explain("product2");
  BOOST_TEST(told.find("device: sim:0: by cost; it would have finished at: cpu:0 ") != std::string::npos,
             told);
  engine host;
  auto alone = host.load(products(host));
  BOOST_TEST(same_bits(result["y"], alone.run({{"x", square(1)}})["y"]));
}

BOOST_AUTO_TEST_CASE(they_stay_on_the_host_if_the_session_says_so) {
  auto e = with_accelerator("");
  auto s = e.load(products(e), {.place_by_cost = false});
  static_cast<void>(s.run({{"x", square(1)}}));
  BOOST_TEST(on_accelerator(s) == 0u);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_on_the_accelerator_stays_on_the_host) {
  auto e = with_accelerator(",memory=800kB"); // of 5 values and 4 weights of 147 kB each
  auto s = e.load(products(e), {.place_by_cost = true});
  for (auto i = 0; i < 3; ++i)
    static_cast<void>(s.run({{"x", square(1)}}));
  BOOST_TEST(on_accelerator(s) > 0u);
  BOOST_TEST(on_accelerator(s) < 4u);
  BOOST_TEST(e.memory_peak("sim:0") > 0u);
  BOOST_TEST(e.memory_peak("sim:0") <= 800'000u);
}

BOOST_AUTO_TEST_CASE(a_sessions_own_budget_counts_as_well) {
  auto e = with_accelerator("");
  auto s = e.load(products(e), {.place_by_cost = true, .memory_budget = {{"sim:0", 800'000}}});
  static_cast<void>(s.run({{"x", square(1)}}));
  BOOST_TEST(on_accelerator(s) > 0u);
  BOOST_TEST(on_accelerator(s) < 4u);
}

BOOST_AUTO_TEST_CASE(rules_count_more_than_cost) {
  auto e = with_accelerator("");
  const auto rules = std::make_shared<const placement_file>(
      placement_file::parse(R"({"rules": [{"node": "product1", "device": "cpu"}]})"));
  auto s = e.load(products(e), {.placement_rules = rules, .place_by_cost = true});
  static_cast<void>(s.run({{"x", square(1)}}));
  BOOST_TEST(on_accelerator(s) == 3u);
  BOOST_TEST(s.explain("product1").find("device: cpu:0: the placement file says 'cpu'") != std::string::npos,
             s.explain("product1"));
}

BOOST_AUTO_TEST_CASE(when_the_accelerator_is_lost_later_plans_do_without_it) {
  engine_options o;
  sim_options fast;
  fast.rate = 1000;
  fast.bandwidth = 1e12;
  fast.latency = std::chrono::nanoseconds{1};
  const auto accelerator = std::make_shared<sim_device>("sim:0", fast, cpu_threads::process().default_pool());
  o.accelerators.push_back(accelerator);
  engine e{o};
  auto s = e.load(products(e), {.place_by_cost = true, .on_device_loss = device_loss::retry});
  const auto before = s.run({{"x", square(1)}});
  BOOST_TEST(on_accelerator(s) == 4u);
  accelerator->lose("somebody pulled the plug");
  const auto after = s.run({{"x", square(1)}});
  BOOST_TEST(same_bits(before["y"], after["y"]));
  BOOST_TEST(on_accelerator(s) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
