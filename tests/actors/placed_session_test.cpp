#include "placed_graphs.hpp"
#include "stepped_engine.hpp"

#include <sluice/actors/session_core.hpp>
#include <sluice/devices/sim_device.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

engine_options with_devices(std::initializer_list<const char*> flags) {
  engine_options o;
  for (const auto* flag : flags)
    o.devices.add_flag(flag);
  return o;
}

/// Results equal those of the host alone, bit for bit, several frames at once.
void expect_equal_results(engine& e, const placed_graph& g, const placed_graph& on_host) {
  engine host;
  auto expected = host.load(on_host.model);
  auto s = e.load(g.model);
  std::vector<pending_result> pending;
  constexpr unsigned frames = 12;
  for (unsigned i = 0; i < frames; ++i)
    pending.push_back(s.run_async({{"x", small_matrix(i)}}, {.fetch = g.fetch}));
  for (unsigned i = 0; i < frames; ++i) {
    const auto got = pending[i].get();
    const auto wanted = expected.run({{"x", small_matrix(i)}}, {.fetch = g.fetch});
    for (const auto& name : g.fetch)
      BOOST_TEST(same_bits(got[name], wanted[name]), g.name << ", frame " << i << ": " << name);
  }
  s.close();
  BOOST_TEST(s.core()->at_rest());
}

} // namespace

BOOST_AUTO_TEST_SUITE(placed_session_test)

BOOST_AUTO_TEST_CASE(results_on_other_devices_equal_those_of_the_host_bit_for_bit) {
  const std::pair<const char*, const char*> places[] = {
      {"sim:0", "sim:0"}, {"sim:0", "sim:1"}, {"cpu:1", "sim:1"}, {"sim", "cpu:1"}, {"cpu:1", "cpu:1"}};
  engine host;
  for (const auto& [first, second] : places) {
    engine e{with_devices({"sim:0", "sim:1", "cpu:1=threads=2"})};
    const auto placed = placed_graphs(e, first, second);
    const auto on_host = placed_graphs(host, "", "");
    for (std::size_t i = 0; i < placed.size(); ++i)
      expect_equal_results(e, placed[i], on_host[i]);
    for (const auto* name : {"sim:0", "sim:1", "cpu:1", "cpu:0"})
      BOOST_TEST(e.memory_in_use(name) == 0u, name << ": " << e.memory_report());
  }
}

BOOST_AUTO_TEST_SUITE_END()
