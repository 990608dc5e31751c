#include "placed_graphs.hpp"
#include "stepped_engine.hpp"

#include <sluice/actors/handles.hpp>
#include <sluice/actors/session_core.hpp>
#include <sluice/devices/sim_device.hpp>
#include <sluice/scheduler/placement_file.hpp>

#include <caf/all.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

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

constexpr std::size_t row_bytes = 24 * sizeof(float);
constexpr std::size_t arena_bytes = 128; // the same in whole units of 64 bytes

/// y = exp(sin(x)), both on `device`, where all three values stand in the same bytes.
std::shared_ptr<const graph> two_steps(const engine& e, const std::string& device) {
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", {4, 6});
  const auto scope = g.on(device);
  g.output("y", g.op("Exp", {g.op("Sin", {x}, {}, "sine")}, {}, "exp"));
  return g.build("two_steps");
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

BOOST_AUTO_TEST_CASE(explain_tells_where_a_node_runs_and_by_whose_word) {
  engine e{with_devices({"sim:0", "sim:1"})};
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", {4, 6});
  {
    const auto scope = g.on("sim:1");
    g.output("n", g.op("NonZero", {g.relu(x, "placed")}, {}, "moved"));
  }
  auto s = e.load(g.build());
  static_cast<void>(s.run({{"x", small_matrix(1)}}));
  const auto told = [&](const char* node, const char* what) {
    return s.explain(node).find(what) != std::string::npos;
  };
  BOOST_TEST(told("placed", "device: sim:1: its scope is 'sim:1'"), s.explain("placed"));
  BOOST_TEST(told("moved", "device: cpu:0: its scope is 'sim:1', but its outputs"), s.explain("moved"));
  BOOST_TEST(told("x → sim:1", "brings 'x' from cpu:0 to sim:1"), s.explain("x → sim:1"));
}

BOOST_AUTO_TEST_CASE(a_strict_session_refuses_what_cannot_go_where_it_is_to) {
  engine e{with_devices({"sim:0"})};
  auto s = e.load(placed_graphs(e, "sim:0", "sim:0")[3].model,
                  {.placement = placement::strict, .place_by_cost = false});
  BOOST_CHECK_EXCEPTION(s.run({{"x", small_matrix(1)}}), error,
                        says(errc::unsupported, {"'twice'", "sim:0", "C++ function"}));
  auto elsewhere = e.load(two_steps(e, "cuda"), {.placement = placement::strict});
  BOOST_CHECK_EXCEPTION(elsewhere.run({{"x", small_matrix(1)}}), error,
                        says(errc::invalid_argument, {"'sine'", "cuda", "sim:0"}));
}

BOOST_AUTO_TEST_CASE(a_placement_file_places_the_nodes_of_a_session) {
  engine e{with_devices({"sim:0", "sim:1"})};
  const auto rules = std::make_shared<const placement_file>(
      placement_file::parse(R"({"rules": [{"op": "Exp", "device": "sim:1"}]})"));
  auto s = e.load(two_steps(e, ""), {.placement_rules = rules, .place_by_cost = false});
  static_cast<void>(s.run({{"x", small_matrix(1)}}));
  BOOST_TEST(s.explain("exp").find("sim:1: the placement file says 'sim:1'") != std::string::npos);
  BOOST_TEST(s.explain("sine").find("cpu:0: nothing says where") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_another_cpu_device_computes_is_charged_to_its_books) {
  engine e{with_devices({"cpu:1=memory=1MiB,threads=1"})};
  auto s = e.load(two_steps(e, "cpu:1"));
  const auto result = s.run({{"x", small_matrix(1)}});
  BOOST_TEST(e.memory_in_use("cpu:1") >= row_bytes); // the result, which this test holds
  BOOST_TEST(e.memory_in_use("cpu:0") == 0u);
  BOOST_TEST(e.memory_report().find("cpu:1: ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_frame_that_never_fits_a_device_is_refused_with_its_report) {
  engine e{with_devices({"sim:0=memory=100B"})};
  auto s = e.load(two_steps(e, "sim"));
  BOOST_CHECK_EXCEPTION(s.run({{"x", small_matrix(1)}}), error,
                        says(errc::out_of_memory, {"128 bytes on sim:0", "of 100 bytes"}));
  BOOST_TEST(e.memory_in_use("cpu:0") == 0u);
}

BOOST_AUTO_TEST_CASE(frames_wait_for_room_on_a_device_and_its_budget_holds) {
  engine e{with_devices({"sim:0=memory=300B", "sim:1"})};
  auto s = e.load(two_steps(e, "sim:0"), {.window = 8});
  auto other = e.load(two_steps(e, "sim:0"), {.memory_budget = {{"sim:0", 150}}});
  std::vector<pending_result> pending;
  for (unsigned i = 0; i < 40; ++i)
    pending.push_back((i % 2 ? s : other).run_async({{"x", small_matrix(i)}}));
  engine host;
  auto expected = host.load(two_steps(host, ""));
  for (unsigned i = 0; i < pending.size(); ++i)
    BOOST_TEST(same_bits(pending[i].get()["y"], expected.run({{"x", small_matrix(i)}})["y"]));
  BOOST_TEST(e.memory_peak("sim:0") <= 300u);
  BOOST_TEST(e.memory_peak("sim:0") >= arena_bytes);
  s.close();
  other.close();
  BOOST_TEST(e.memory_in_use("sim:0") == 0u);
}

BOOST_AUTO_TEST_CASE(a_weight_lies_once_on_a_device_whatever_the_number_of_plans) {
  engine e{with_devices({"sim:0"})};
  const auto g = placed_graphs(e, "sim:0", "sim:0")[0];
  std::weak_ptr<session_core> core;
  {
    auto s = e.load(g.model);
    core = s.core();
    static_cast<void>(s.run({{"x", small_matrix(1)}}));
    const auto weights = 36 * sizeof(float);
    BOOST_TEST(e.memory_in_use("sim:0") == weights);
    static_cast<void>(s.run({{"x", small_matrix(1)}}, {.fetch = {"y", "x"}}));
    BOOST_TEST(e.memory_in_use("sim:0") == weights);
    s.close();
  }
  wait_until_gone(core);
  BOOST_TEST(e.memory_in_use("sim:0") == 0u);
}

BOOST_AUTO_TEST_CASE(a_firing_on_an_accelerator_only_enqueues) {
  const auto clock = sim_clock::make();
  engine_options options;
  options.accelerators.push_back(std::make_shared<sim_device>("sim:0", sim_options{}, clock));
  stepped_engine e{1, std::move(options)};
  auto s = e->load(two_steps(*e, "sim:0"));
  auto r = s.run_async({{"x", small_matrix(3)}});
  e.settle();
  BOOST_TEST(!r.ready()); // its work is enqueued, and takes time that has not passed
  BOOST_TEST(e->memory_in_use("sim:0") == arena_bytes);
  clock->drain();
  e.settle();
  BOOST_REQUIRE(r.ready());
  BOOST_TEST(clock->now() >= 2 * sim_options{}.latency);
  engine host;
  BOOST_TEST(same_bits(r.get()["y"], host.load(two_steps(host, "")).run({{"x", small_matrix(3)}})["y"]));
  BOOST_TEST(e->memory_in_use("sim:0") == 0u);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_cancelled_while_a_device_works_for_it_is_answered_at_once) {
  const auto clock = sim_clock::make();
  engine_options options;
  options.accelerators.push_back(std::make_shared<sim_device>("sim:0", sim_options{}, clock));
  stepped_engine e{1, std::move(options)};
  auto s = e->load(two_steps(*e, "sim:0"));
  auto r = s.run_async({{"x", small_matrix(3)}});
  e.settle();
  r.cancel();
  BOOST_TEST(r.ready());
  BOOST_CHECK_EXCEPTION(r.get(), error, says(errc::cancelled));
  BOOST_TEST(s.core()->in_flight() == 1u); // the device still works with its memory
  clock->drain();
  e.settle();
  BOOST_TEST(s.core()->at_rest());
  BOOST_TEST(e->memory_in_use("sim:0") == 0u);
}

BOOST_AUTO_TEST_CASE(a_transfer_is_an_actor_that_is_replaced_when_it_is_killed) {
  stepped_engine e{1, with_devices({"sim:0"})};
  auto s = e->load(two_steps(*e, "sim:0"));
  auto first = s.run_async({{"x", small_matrix(3)}});
  e.settle();
  static_cast<void>(first.get());
  const auto transfer = node_of(s, "x → sim:0");
  auto hit = s.run_async({{"x", small_matrix(3)}});
  caf::anon_send_exit(transfer, caf::exit_reason::kill);
  e.settle();
  BOOST_CHECK_EXCEPTION(hit.get(), error, says(errc::node_down, "x → sim:0"));
  BOOST_TEST((node_of(s, "x → sim:0") != transfer));
  auto later = s.run_async({{"x", small_matrix(3)}});
  e.settle();
  BOOST_CHECK_NO_THROW(static_cast<void>(later.get()));
  BOOST_TEST(s.core()->at_rest());
}

BOOST_AUTO_TEST_CASE(after_a_loss_plans_leave_the_device_out_and_explain_says_why) {
  const auto device = std::make_shared<sim_device>("sim:0", sim_options{}, sim_clock::make());
  engine_options options;
  options.accelerators.push_back(device);
  stepped_engine e{1, std::move(options)};
  auto s = e->load(two_steps(*e, "sim:0"), {.on_device_loss = device_loss::retry});
  auto strict = e->load(two_steps(*e, "sim:0"), {.placement = placement::strict});
  auto r = s.run_async({{"x", small_matrix(3)}});
  e.settle();
  device->lose("somebody stepped on it");
  e.settle();
  BOOST_REQUIRE(r.ready());
  BOOST_CHECK_NO_THROW(static_cast<void>(r.get()));
  BOOST_TEST(
      s.explain("sine").find("cpu:0: its scope is 'sim:0', but sim:0 is lost: somebody stepped on it") !=
      std::string::npos);
  auto refused = strict.run_async({{"x", small_matrix(3)}});
  e.settle();
  BOOST_CHECK_EXCEPTION(refused.get(), error, says(errc::device_lost, {"'sine'", "stepped on it"}));
  auto later = e->load(two_steps(*e, "sim:0")); // a session that comes after
  e.settle();
  auto after = later.run_async({{"x", small_matrix(3)}});
  e.settle();
  BOOST_CHECK_NO_THROW(static_cast<void>(after.get()));
}

BOOST_AUTO_TEST_CASE(devices_that_make_no_sense_are_refused_with_their_name) {
  const auto refused = [](engine_options o, errc code, phrases why) {
    BOOST_CHECK_EXCEPTION(engine{std::move(o)}, error, says(code, std::move(why)));
  };
  refused(with_devices({"tpu:0"}), errc::unsupported, {"tpu:0", "cpu and sim"});
  refused(with_devices({"cpu:1=colour=red"}), errc::invalid_argument, {"cpu:1", "colour"});
  refused(with_devices({"cpu:0=threads=3"}), errc::invalid_argument, {"cpu:0", "threads"});
  refused({.memory_budget = {{"sim:7", 1}}}, errc::invalid_argument, {"sim:7", "cpu:0"});
  auto twice = with_devices({"sim:0"});
  twice.accelerators.push_back(std::make_shared<sim_device>("sim:0", sim_options{}, sim_clock::make()));
  refused(std::move(twice), errc::invalid_argument, "two devices 'sim:0'");
  engine e;
  BOOST_CHECK_EXCEPTION(e.load(two_steps(e, ""), {.memory_budget = {{"sim:0", 1}}}), error,
                        says(errc::invalid_argument, "sim:0"));
}

BOOST_AUTO_TEST_SUITE_END()
