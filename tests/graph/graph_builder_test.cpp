#include <sluice/graph/graph_builder.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

std::shared_ptr<const op_registry> operators() {
  auto registry = std::make_shared<op_registry>();
  const auto same = [](const op_view& op) { return std::vector<value_type>{op.input(0)}; };
  registry->add({.name = "Neg", .infer = same});
  registry->add({.name = "Late", .since_opset = 18, .infer = same});
  registry->add({.name = "Add", .min_inputs = 2, .max_inputs = 2, .infer = [](const op_view& op) {
                   if (!op.input(0).merged(op.input(1)))
                     throw error{errc::invalid_graph, "the shapes differ"};
                   return std::vector<value_type>{op.input(0)};
                 }});
  return registry;
}

} // namespace

BOOST_AUTO_TEST_SUITE(graph_builder_test)

BOOST_AUTO_TEST_CASE(a_device_scope_may_outlive_the_building_of_a_graph) {
  graph_builder g{operators()};
  const auto scope = g.on("cpu:0");
  g.output("x", g.placeholder<float>("x", {2}));
  static_cast<void>(g.build());
  const auto x = g.placeholder<float>("x", {2});
  g.output("y", g.op("Neg", {x}, {}, "next"));
  const auto next = g.build();
  BOOST_TEST(next->at(next->find_node("next")).device == "cpu:0");
}

BOOST_AUTO_TEST_CASE(a_built_graph_knows_its_nodes_edges_types_and_scopes) {
  graph_builder g{operators()};
  const auto x = g.placeholder<float>("x", {"N", 3});
  auto y = edge_ref{};
  {
    const auto outer = g.on("cuda");
    y = g.op("Neg", {x}, {}, "a");
    const auto inner = g.on("cpu:0");
    y = g.op("Neg", {y}, {}, "b");
  }
  g.output("y", g.op("Add", {x, y}, {}, "sum"));
  const auto built = g.build("net");
  BOOST_TEST(built->nodes().size() == 3u);
  BOOST_TEST(built->at(built->find_node("a")).device == "cuda");
  BOOST_TEST(built->at(built->find_node("b")).device == "cpu:0");
  BOOST_TEST(built->at(built->find_node("sum")).device == "");
  BOOST_TEST(to_string(built->at_edge(built->outputs()[0]).type) == "float32[N, 3]");
  BOOST_TEST(built->find_edge("y") == built->outputs()[0]);
  BOOST_TEST(built->at_edge(built->inputs()[0]).consumers.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_wrong_node_is_refused_by_name) {
  graph_builder g{operators()};
  const auto x = g.placeholder<float>("x", {2});
  const auto i = g.placeholder<std::int64_t>("i", {2});
  BOOST_CHECK_EXCEPTION(g.op("Nege", {x}, {}, "n"), error,
                        says(errc::invalid_graph, "Nege 'n': unknown operator"));
  BOOST_CHECK_EXCEPTION(g.op("Late", {x}, {}, "n"), error, says(errc::invalid_graph, "not in opset 17"));
  BOOST_CHECK_EXCEPTION(g.op("Neg", {x, x}, {}, "n"), error,
                        says(errc::invalid_graph, "has 2 inputs; it takes 1"));
  BOOST_CHECK_EXCEPTION(g.op("Add", {x, i}, {}, "n"), error,
                        says(errc::invalid_graph, "Add 'n': the shapes differ"));
  BOOST_CHECK_EXCEPTION(g.op("Neg", {{77}}, {}, "n"), error,
                        says(errc::invalid_graph, "no value of this graph"));
}

BOOST_AUTO_TEST_CASE(names_are_unique) {
  graph_builder g{operators()};
  const auto x = g.placeholder<float>("x", {2});
  BOOST_CHECK_EXCEPTION(g.placeholder<float>("x", {2}), error, says(errc::invalid_graph, "'x'"));
  static_cast<void>(g.op("Neg", {x}, {}, "n"));
  BOOST_CHECK_EXCEPTION(g.op("Neg", {x}, {}, "n"), error,
                        says(errc::invalid_graph, "two nodes are named 'n'"));
  g.output("y", x);
  BOOST_CHECK_EXCEPTION(g.output("y", x), error, says(errc::invalid_graph, "two outputs are named 'y'"));
}

BOOST_AUTO_TEST_CASE(a_graph_without_outputs_is_refused) {
  graph_builder g{operators()};
  static_cast<void>(g.placeholder<float>("x", {2}));
  BOOST_CHECK_EXCEPTION(static_cast<void>(g.build("net")), error,
                        says(errc::invalid_graph, "'net' has no outputs"));
}

BOOST_AUTO_TEST_CASE(types_follow_from_fed_shapes) {
  graph_builder g{operators()};
  const auto x = g.placeholder<float>("x", {"N", 3});
  g.output("y", g.op("Neg", {x}));
  const auto built = g.build();
  const value_type fed{element_type::float32, shape{5, 3}};
  const auto types = infer_types(*built, std::span{&fed, 1});
  BOOST_TEST(to_string(types[built->outputs()[0]]) == "float32[5, 3]");
}

BOOST_AUTO_TEST_SUITE_END()
