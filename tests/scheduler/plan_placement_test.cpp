#include "tests/scheduler/planned_graph.hpp"
#include "tests/support/says.hpp"

#include <sluice/graph/tensor.hpp>
#include <sluice/graph/tensor_block.hpp>
#include <sluice/scheduler/placed_memory.hpp>
#include <sluice/scheduler/plan_placement.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace sluice;
using namespace sluice::test;

namespace {

/// The host, and a device ten times as fast behind a link that costs nothing.
std::vector<described_device> two_devices() {
  return {describe_host(1), {.name = "sim:0", .rate = 10}};
}

struct fixture : planned_graph {
  edge_ref x = builder.placeholder("x", {element_type::float32, shape{64, 64}});

  edge_ref weight(const char* name, shape s) {
    auto t = tensor::make(element_type::float32, s);
    std::fill(t->data<float>().begin(), t->data<float>().end(), 0.01F);
    return builder.constant(name, std::move(t));
  }

  static std::string device_of(const placed_plan& placed, const plan& p, const char* node) {
    return placed.described.problem.devices[placed.device_of[p.source->find_node(node)]].name;
  }
};

std::size_t position(const plan_problem& d, const char* step) {
  for (std::size_t s = 0; s < d.problem.steps.size(); ++s)
    if (d.problem.steps[s].name == step)
      return s;
  BOOST_FAIL(step);
  return 0;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(plan_placement, fixture)

BOOST_AUTO_TEST_CASE(steps_values_and_weights_of_a_plan_make_the_problem) {
  const auto w = weight("w", {64, 64});
  const auto a = builder.op("MatMul", {x, w}, {}, "a");
  const auto b = builder.op("MatMul", {a, w}, {}, "b");
  builder.output("y", b);
  const auto p = make();
  const auto d = describe(*p, two_devices());
  d.problem.check();
  BOOST_REQUIRE(d.problem.steps.size() == 2u);
  BOOST_TEST(d.problem.steps[0].time_ns[1] == d.problem.steps[0].time_ns[0] / 10);
  BOOST_REQUIRE(d.problem.constants.size() == 1u); // shared
  BOOST_TEST(d.problem.constants[0].bytes == tensor_block_bytes(64 * 64 * 4));
  BOOST_REQUIRE(d.problem.values.size() == 3u);
  BOOST_TEST((d.problem.values[0].fed_on == 0u));
  BOOST_TEST((d.problem.values[2].result_on == 0u));
  BOOST_TEST(d.problem.values[1].bytes == tensor_block_bytes(64 * 64 * 4));
}

BOOST_AUTO_TEST_CASE(a_view_costs_nothing_and_goes_where_its_value_is) {
  const auto a = builder.op("Exp", {x}, {}, "a");
  const auto flat = builder.op("Flatten", {a}, {{"axis", std::int64_t{0}}}, "flat");
  builder.output("y", builder.op("Softmax", {flat}, {}, "b"));
  const auto p = make();
  auto rules = placement_file::parse(R"({"rules": [{"node": "a", "device": "sim:0"}]})");
  const auto placed = place_plan(*p, two_devices(), {.rules = &rules});
  BOOST_TEST(placed.described.problem.steps.size() == 2u);
  BOOST_TEST(device_of(placed, *p, "flat") == "sim:0");
  BOOST_TEST(placed.explain(*p, p->source->find_node("flat")).starts_with("flat: sim:0, a view of '"));
  rules = placement_file::parse(R"({"rules": [{"node": "flat", "device": "cpu:0"}]})");
  BOOST_TEST(device_of(place_plan(*p, two_devices(), {.rules = &rules}), *p, "flat") == "cpu:0");
}

BOOST_AUTO_TEST_CASE(a_view_with_another_output_takes_that_ones_bytes) {
  const auto a = builder.op("Exp", {x}, {}, "a");
  builder.output("y",
                 builder.op_outputs("Dropout", {a}, {}, {.name = "dropout", .outputs = {"y0", "mask"}})[0]);
  const auto d = describe(*make(), two_devices());
  BOOST_TEST(d.problem.steps.size() == 2u);
  BOOST_TEST(d.problem.steps[1].outputs.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_view_of_an_input_stays_on_the_host) {
  const auto flat = builder.op("Flatten", {x}, {}, "flat");
  builder.output("y", builder.op("Exp", {flat}, {}, "a"));
  const auto p = make();
  const auto rules = placement_file::parse(R"({"rules": [{"node": "a", "device": "sim:0"}]})");
  const auto placed = place_plan(*p, two_devices(), {.rules = &rules});
  BOOST_TEST(device_of(placed, *p, "flat") == "cpu:0");
  BOOST_TEST(device_of(placed, *p, "a") == "sim:0");
}

BOOST_AUTO_TEST_CASE(what_only_the_host_can_do_stays_there_and_it_is_said_why) {
  const auto positive = builder.op("Greater", {x, weight("zero", {1})}, {}, "positive");
  const auto places = builder.op("NonZero", {positive}, {}, "places");
  const auto called = builder.function("call", {x}, {{element_type::float32, shape{64, 64}}},
                                       {.call = [](auto in, auto out) { out[0] = std::move(in[0]); }});
  builder.output("y", places);
  builder.output("z", called[0]);
  const auto p = make();
  const auto placed = place_plan(*p, two_devices());
  const auto why = [&](const char* node) { return placed.explain(*p, p->source->find_node(node)); };
  BOOST_TEST(why("places").ends_with("its shapes depend on data"));
  BOOST_TEST(why("call").ends_with("it is a C++ function"));
  BOOST_TEST(device_of(placed, *p, "places") == "cpu:0");
  BOOST_TEST(device_of(placed, *p, "call") == "cpu:0");
  const auto d = describe(*p, two_devices());
  BOOST_TEST(d.problem.steps[position(d, "positive")].time_ns[1] != placement_problem::no_kernel);
}

BOOST_AUTO_TEST_CASE(scopes_of_the_graph_hold_and_rules_count_more) {
  {
    const auto scope = builder.on("sim");
    builder.output("y", builder.op("Exp", {x}, {}, "a"));
  }
  const auto p = make();
  const auto devices = two_devices();
  BOOST_TEST(device_of(place_plan(*p, devices), *p, "a") == "sim:0");
  const auto rules = placement_file::parse(R"({"rules": [{"op": "Exp", "device": "cpu"}]})");
  BOOST_TEST(device_of(place_plan(*p, devices, {.rules = &rules}), *p, "a") == "cpu:0");
}

BOOST_AUTO_TEST_CASE(strict_is_what_the_caller_or_the_rules_say) {
  builder.output("y", builder.op("Exp", {x}, {}, "a"));
  const auto p = make();
  const auto refused = [&](const char* text, bool strict) {
    const auto rules = placement_file::parse(text);
    BOOST_CHECK_EXCEPTION(
        static_cast<void>(place_plan(*p, two_devices(), {.rules = &rules, .strict = strict})), error,
        says(errc::invalid_argument, {"'cuda'"}));
  };
  refused(R"({"rules": [{"node": "a", "device": "cuda"}]})", true);
  refused(R"({"mode": "strict", "rules": [{"node": "a", "device": "cuda"}]})", false);
}

BOOST_AUTO_TEST_CASE(a_device_without_a_kernel_is_left_alone) {
  builder.output("y", builder.op("Exp", {x}, {}, "a"));
  const auto p = make();
  auto devices = two_devices();
  devices[1].has_kernel = [](const graph::node& n) { return n.op != "Exp"; };
  const auto placed = place_plan(*p, devices);
  BOOST_TEST(placed.explain(*p, p->source->find_node("a")).find("only device that has a kernel") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_fits_nowhere_is_refused_with_the_device_and_the_bytes) {
  builder.output("y", builder.op("MatMul", {x, weight("w", {64, 64})}, {}, "a"));
  const auto p = make();
  auto devices = two_devices();
  devices[0].budget = devices[1].budget = 1000;
  BOOST_CHECK_EXCEPTION(static_cast<void>(place_plan(*p, devices)), error,
                        says(errc::out_of_memory, {"no placement fits", "lacks", "its budget is 1000"}));
}

BOOST_AUTO_TEST_CASE(the_host_must_be_among_the_devices) {
  builder.output("y", builder.op("Exp", {x}, {}, "a"));
  const auto p = make();
  const std::vector<described_device> none{{.name = "sim:0"}};
  BOOST_CHECK_EXCEPTION(static_cast<void>(place_plan(*p, none)), error,
                        says(errc::invalid_argument, {"'cpu:0'"}));
}

BOOST_AUTO_TEST_CASE(what_the_plan_leaves_out_is_said_to_be_left_out) {
  builder.op("Exp", {x}, {}, "idle");
  builder.output("y", builder.op("Tanh", {x}, {}, "a"));
  const auto p = make();
  const auto placed = place_plan(*p, two_devices());
  BOOST_TEST(placed.device_of.size() == p->source->nodes().size());
  BOOST_TEST(placed.explain(*p, p->source->find_node("idle")).find("not executed") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_device_has_what_arrives_and_lets_go_of_what_has_left) {
  const auto a = builder.op("Exp", {x}, {}, "a");
  const auto b = builder.op("Tanh", {a}, {}, "b");
  const auto c = builder.op("Sigmoid", {b}, {}, "c");
  builder.output("y", builder.op("Add", {c, a}, {}, "d"));
  const auto p = make();
  const auto rules = placement_file::parse(
      R"({"rules": [{"node": "b", "device": "sim:0"}, {"node": "c", "device": "sim:0"},
                    {"node": "a", "device": "cpu:0"}, {"node": "d", "device": "cpu:0"}]})");
  const auto placed = place_plan(*p, two_devices(), {.rules = &rules});
  const auto there = memory_on(*p, placed, 1);
  using kind = placed_memory::step::kind;
  BOOST_REQUIRE(there.steps.size() == 4u);
  BOOST_CHECK(there.steps[0].what == kind::arrival);
  BOOST_CHECK(there.steps[1].what == kind::firing);
  BOOST_CHECK(there.steps[3].what == kind::departure);
  BOOST_TEST(there.graph.buffers.size() == 3u);
  BOOST_TEST(there.graph.steps[1].in_place.size() == 1u); // Tanh may write where the copy of a lies
  const auto here = memory_on(*p, placed, 0);
  BOOST_TEST(here.graph.steps.size() == 4u); // a, its departure, the arrival of c, d
  BOOST_TEST(here.graph.buffers.back().leaves);
  BOOST_TEST(link(here.graph).before[2].size() == 1u); // c arrives after a was made
}

BOOST_AUTO_TEST_CASE(two_thousand_nodes_are_placed_soon) {
  auto a = x, b = x;
  for (auto i = 0; i < 1000; ++i) {
    a = builder.op("Sigmoid", {i % 10 == 0 ? builder.op("Add", {a, b}) : a});
    b = builder.op("Tanh", {b});
  }
  builder.output("y", builder.op("Add", {a, b}));
  const auto p = make();
  auto devices = two_devices();
  devices[1].budget = 100'000;
  devices[1].bandwidth = 10e9;
  devices[1].latency = std::chrono::microseconds{10};
  const auto start = std::chrono::steady_clock::now();
  const auto placed = place_plan(*p, devices);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  BOOST_TEST_MESSAGE(placed.described.problem.steps.size()
                     << " steps were placed in " << took.count() << " ms");
  BOOST_TEST(placed.made.schedule.peak_bytes[1] <= 100'000u);
}

BOOST_AUTO_TEST_SUITE_END()
