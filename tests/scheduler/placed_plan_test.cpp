#include <sluice/graph/graph_builder.hpp>
#include <sluice/graph/tensor_block.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/plan.hpp>
#include <sluice/scheduler/plan_memory.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace sluice;
using test::says;

namespace {

const std::vector<plan_device> devices{{"cpu:0"}, {"cpu:1"}, {"sim:0", true}, {"sim:1", true}};
constexpr std::size_t elements = 100;

struct fixture {
  graph_builder builder() const { return graph_builder{operators->schemas()}; }

  edge_ref on(graph_builder& g, const std::string& device, const std::string& op,
              std::vector<edge_ref> inputs, const std::string& name) {
    const auto scope = g.on(device);
    return g.op(op, std::move(inputs), {}, name);
  }

  std::shared_ptr<const plan> make(const std::shared_ptr<const graph>& g, bool strict = false,
                                   std::vector<std::string> fetch = {}, unsigned lanes = 0) {
    plan_request request;
    request.lanes = lanes;
    for (const auto e : g->inputs())
      request.fed.push_back({e, g->at_edge(e).type, {}});
    request.fetch.assign(g->outputs().begin(), g->outputs().end());
    for (const auto& name : fetch)
      request.fetch.push_back(g->find_edge(name));
    auto places = place_by_scope(*g, devices, nullptr, strict);
    places.bring = [this](const value& v, std::uint32_t device) {
      brought.push_back(device);
      return v;
    };
    request.places = std::make_shared<const node_places>(std::move(places));
    return make_plan(g, fold_constants(*g, *operators, memory::heap()), request, kernels);
  }

  /// "a@cpu:0 a→sim:0 b@sim:0": the steps in their order, named after nodes and values.
  static std::string steps(const plan& p) {
    std::string text;
    for (const auto& s : p.steps)
      text += (text.empty() ? "" : " ") +
              (s.node == no_node ? p.source->at_edge(s.moves).name + "→" : p.source->at(s.node).name + "@") +
              p.devices[s.device].name;
    return text;
  }

  const plan_step& step(const plan& p, const std::string& node) {
    return p.steps[p.step_of[p.source->find_node(node)]];
  }

  std::shared_ptr<const operator_library> operators = standard_operators();
  kernel_cache kernels{operators};
  std::vector<std::uint32_t> brought; // constants, by device
};

const partial_shape vector{static_cast<std::int64_t>(elements)};

} // namespace

BOOST_FIXTURE_TEST_SUITE(placed_plan_test, fixture)

BOOST_AUTO_TEST_CASE(a_value_is_brought_once_to_each_memory_that_reads_it_and_results_to_the_host) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", vector);
  const auto a = on(g, "sim:0", "Relu", {x}, "a");
  const auto b = on(g, "sim:0", "Add", {a, x}, "b");
  const auto c = on(g, "sim:1", "Add", {a, b}, "c");
  const auto d = on(g, "cpu:1", "Neg", {a}, "d");
  const auto e = on(g, "cpu:0", "Neg", {a}, "e");
  for (const auto& [name, edge] : {std::pair{"c_", c}, std::pair{"d_", d}, std::pair{"e_", e}})
    g.output(name, edge);
  const auto p = make(g.build());
  BOOST_TEST(steps(*p) == "x→sim:0 a@sim:0 b@sim:0 a→sim:1 b→sim:1 c@sim:1 a→cpu:0 d@cpu:1 e@cpu:0 c→cpu:0");
  BOOST_TEST(p->steps[3].from == 2u); // straight from one accelerator to the other
  BOOST_TEST(step(*p, "b").dynamic_inputs == 2u);
  BOOST_TEST(p->steps[0].routes[0].size() == 2u);
}

BOOST_AUTO_TEST_CASE(bytes_are_counted_on_the_device_that_holds_them) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", vector);
  const auto a = on(g, "sim:0", "Relu", {x}, "a");
  const auto b = on(g, "cpu:1", "Neg", {a}, "b");
  g.output("y", b);
  const auto p = make(g.build());
  const auto bytes = elements * sizeof(float);
  BOOST_TEST(p->device_bytes[2] == 2 * bytes); // x and a
  BOOST_TEST(p->device_bytes[1] == tensor_block_bytes(bytes));
  BOOST_TEST(p->loose_bytes == tensor_block_bytes(bytes)); // a, for b
  BOOST_TEST(p->device_bytes[3] == 0u);
  BOOST_TEST(!p->uses(3));
}

BOOST_AUTO_TEST_CASE(weights_are_brought_to_the_device_unless_only_a_view_reads_them) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", vector);
  const auto w = g.constant("w", tensor::of_scalar(2.f));
  const auto shape = g.constant("s", tensor::of<std::int64_t>({2}, {10, 10}));
  const auto a = on(g, "sim:1", "Mul", {x, w}, "a");
  g.output("y", on(g, "sim:1", "Reshape", {a, shape}, "view"));
  const auto p = make(g.build());
  BOOST_TEST((brought == std::vector<std::uint32_t>{3}));
  BOOST_TEST(step(*p, "view").view);
  BOOST_TEST(!step(*p, "a").view);
}

BOOST_AUTO_TEST_CASE(a_branch_is_a_stream) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", vector);
  const auto root = on(g, "sim:0", "Relu", {x}, "root");
  const auto left = on(g, "sim:0", "Neg", {on(g, "sim:0", "Identity", {root}, "view")}, "left");
  const auto right = on(g, "sim:0", "Neg", {on(g, "sim:0", "Exp", {root}, "right")}, "right2");
  g.output("y", on(g, "sim:0", "Add", {right, left}, "join"));
  const auto p = make(g.build());
  const auto stream = [&](const char* node) { return step(*p, node).stream; };
  BOOST_TEST(stream("left") == stream("root"));
  BOOST_TEST(stream("right") != stream("root"));
  BOOST_TEST(stream("right2") == stream("right"));
  BOOST_TEST(stream("join") == stream("right"));
}

BOOST_AUTO_TEST_CASE(what_an_accelerator_cannot_execute_runs_on_the_host_and_says_so_or_is_refused) {
  const auto model = [&](const char* device) {
    auto g = builder();
    const auto x = g.placeholder<float>("x", vector);
    const auto scope = g.on(device);
    const auto n = g.op("NonZero", {x}, {}, "by_data");
    g.output("n", g.op("Neg", {n}, {}, "later"));
    g.output("f", g.function("f", {x}, {value_type{element_type::float32, vector}},
                             {[](std::span<value> in, std::span<value> out) { out[0] = in[0]; }})[0]);
    return g.build();
  };
  const auto p = make(model("sim:0"));
  for (const auto* node : {"by_data", "later", "f"})
    BOOST_TEST(step(*p, node).device == 0u, node);
  BOOST_TEST(step(*p, "f").why == "its scope is 'sim:0', but it is a C++ function");
  BOOST_TEST(step(*p, "later").why.find("known in advance") != std::string::npos);
  BOOST_CHECK_EXCEPTION(make(model("sim:0"), true), error,
                        says(errc::unsupported, {"'by_data'", "sim:0", "known in advance"}));
  const auto on_cpu = make(model("cpu:1"), true); // which executes both
  for (const auto* node : {"by_data", "later", "f"})
    BOOST_TEST(step(*on_cpu, node).device == 1u, node);
}

BOOST_AUTO_TEST_CASE(the_hosts_arena_leaves_out_what_other_devices_make_and_what_is_being_copied) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", vector);
  const auto a = g.relu(x, "a");
  const auto b = on(g, "sim:0", "Neg", {a}, "b");
  g.output("y", g.relu(b, "c"));
  const auto p = make(g.build());
  BOOST_TEST(steps(*p) == "a@cpu:0 a→sim:0 b@sim:0 b→cpu:0 c@cpu:0");
  const auto m = memory_of(*p).graph;
  BOOST_REQUIRE(m.buffers.size() == 2u); // a, c; what is brought to the host has memory of its own
  BOOST_TEST(m.buffers[0].leaves);
  BOOST_TEST(m.buffers[1].leaves);
  BOOST_TEST((m.steps[4].after == std::vector<memory_graph::index>{3}));
  BOOST_TEST((m.steps[2].after == std::vector<memory_graph::index>{1}));
}

BOOST_AUTO_TEST_CASE(values_on_an_accelerator_stand_in_an_arena_of_its_own) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", vector);
  const auto transposed = [&](edge_ref from, const std::string& name) { // never in place
    const auto scope = g.on("sim:0");
    return g.op("Transpose", {from}, {}, name);
  };
  const auto a = transposed(x, "a");
  const auto b = transposed(a, "b");
  const auto c = transposed(b, "c");
  g.output("y", on(g, "sim:1", "Transpose", {c}, "d"));
  const auto p = make(g.build(), false, {"a"}, 1);
  const std::size_t unit = 64 * ((elements * sizeof(float) + 63) / 64);
  // x and b share bytes, and a, once the host has it, may still be read when c is made.
  BOOST_TEST(p->device_arenas[2] == 3 * unit);
  BOOST_TEST(p->device_bytes[2] == p->device_arenas[2]);
  BOOST_TEST(p->device_arenas[3] == 2 * unit);
  const auto place = [&](const char* node) { return step(*p, node).places[0].elements; };
  BOOST_TEST(p->steps[0].places[0].elements == place("b"));
  BOOST_TEST(place("a") != place("b"));
  BOOST_TEST(place("c") != place("a"));
  BOOST_TEST(place("c") != place("b"));
}

BOOST_AUTO_TEST_SUITE_END()
