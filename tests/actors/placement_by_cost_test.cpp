#include "placed_graphs.hpp"

#include <sluice/devices/cpu_threads.hpp>
#include <sluice/devices/sim_device.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

// Nodes that nobody places go where the graph finishes soonest within all budgets.

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::int64_t width = 256;
constexpr std::size_t value_bytes = width * width * sizeof(float);

engine_options with(const std::string& device) {
  engine_options o;
  o.devices.add_flag(device);
  return o;
}

value big_matrix() {
  auto t = tensor::make(element_type::float32, {width, width});
  auto x = -1.f;
  for (auto& element : t->data<float>()) {
    element = x;
    x = x > 1 ? x - 1.75f : x + 0.3125f;
  }
  return t;
}

/// Six products of large matrices in a row.
std::shared_ptr<const graph> products(const engine& e) {
  auto g = e.builder();
  auto y = g.placeholder<float>("x", {width, width});
  const auto w = g.constant("w", big_matrix());
  for (int i = 0; i < 6; ++i)
    y = g.op("Tanh", {g.matmul(y, w, "product" + std::to_string(i))}, {}, "tanh" + std::to_string(i));
  g.output("y", y);
  return g.build("products");
}

value run(session& s) {
  return s.run({{"x", big_matrix()}})["y"];
}

value expected() {
  engine host;
  auto s = host.load(products(host));
  return run(s);
}

} // namespace

BOOST_AUTO_TEST_SUITE(placement_by_cost_test)

BOOST_AUTO_TEST_CASE(work_goes_to_a_faster_device_whose_link_is_fast) {
  engine e{with("sim:0=memory=64MiB,rate=20,bandwidth=100GB/s,latency=1us")};
  auto s = e.load(products(e));
  BOOST_TEST(same_bits(run(s), expected()));
  for (const auto* node : {"product0", "tanh3", "product5"}) {
    const auto text = s.explain(node);
    BOOST_TEST(text.find("device: sim:0: by cost; it would have finished at: cpu:0 ") != std::string::npos,
               text);
  }
  BOOST_TEST(e.memory_peak("sim:0") > value_bytes);
}

BOOST_AUTO_TEST_CASE(work_stays_where_a_link_is_slow_and_where_the_session_says_so) {
  engine slow{with("sim:0=memory=64MiB,rate=20,bandwidth=10MB/s,latency=10ms")};
  auto s = slow.load(products(slow));
  BOOST_TEST(same_bits(run(s), expected()));
  BOOST_TEST(s.explain("product3").find("device: cpu:0: by cost") != std::string::npos, s.explain("product3"));
  BOOST_TEST(slow.memory_peak("sim:0") == 0u);

  engine fast{with("sim:0=memory=64MiB,rate=20,bandwidth=100GB/s,latency=1us")};
  auto host_only = fast.load(products(fast), {.place_by_cost = false});
  BOOST_TEST(same_bits(run(host_only), expected()));
  BOOST_TEST(fast.memory_peak("sim:0") == 0u);
}

BOOST_AUTO_TEST_CASE(a_device_gets_no_more_than_its_budget_holds) {
  for (std::size_t values = 1; values < 12; values += 2) {
    const auto budget = values * value_bytes + value_bytes / 2;
    engine e{with("sim:0=memory=" + std::to_string(budget) + "B,rate=20,bandwidth=100GB/s,latency=1us")};
    auto s = e.load(products(e));
    BOOST_TEST(same_bits(run(s), expected()));
    BOOST_TEST(e.memory_peak("sim:0") <= budget);
    s.close();
  }
}

BOOST_AUTO_TEST_CASE(after_a_loss_work_goes_back_to_the_host) {
  const auto device = std::make_shared<sim_device>(
      "sim:0", sim_options{.rate = 20, .bandwidth = 1e11, .latency = std::chrono::microseconds{1}},
      cpu_threads::process().default_pool());
  engine_options o;
  o.accelerators.push_back(device);
  engine e{std::move(o)};
  auto s = e.load(products(e), {.on_device_loss = device_loss::retry});
  BOOST_TEST(same_bits(run(s), expected()));
  BOOST_TEST(s.explain("product3").find("device: sim:0") != std::string::npos);
  device->lose("unplugged");
  BOOST_TEST(same_bits(run(s), expected()));
  BOOST_TEST(s.explain("product3").find("device: cpu:0") != std::string::npos, s.explain("product3"));
}

BOOST_AUTO_TEST_SUITE_END()
