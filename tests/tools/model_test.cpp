#include "tiny_models.hpp"

#include <tools/exit_code.hpp>
#include <tools/model/lenient_model.hpp>
#include <tools/model/picture.hpp>
#include <tools/model/summary.hpp>

#include <sluice/graph/graph_builder.hpp>
#include <sluice/stream/file_bytes.hpp>

#include <boost/test/unit_test.hpp>

#include <tests/support/temporary_folder.hpp>

using namespace sluice;
using namespace sluice::tools;

namespace {

/// y = Twice(Scale(x, w)) with costs for Scale only.
std::shared_ptr<const graph> small_graph() {
  auto operators = std::make_shared<op_registry>();
  const auto same = [](const op_view& op) { return std::vector{op.input(0)}; };
  operators->add({.name = "Scale", .max_inputs = 2, .infer = same, .cost = [](const op_view&, auto) {
                    return op_cost{.flops = 100, .bytes = 7};
                  }});
  operators->add({.name = "Twice", .infer = same});
  graph_builder g{operators};
  const auto x = g.placeholder<float>("x", {"N", 4});
  const auto w = g.constant("w", tensor::of<float>({4}, {1, 2, 3, 4}));
  g.output("y", g.op("Twice", {g.op("Scale", {x, w}, {}, "scale")}, {}, "a \"twice\""));
  return g.build("small");
}

} // namespace

BOOST_AUTO_TEST_SUITE(models)

BOOST_AUTO_TEST_CASE(a_summary_adds_up_costs_and_weights) {
  const auto s = summarize(*small_graph(), {{"N", 3}});
  BOOST_TEST(s.weights == 1u);
  BOOST_TEST(s.weight_bytes == 16u);
  BOOST_TEST(s.parameters == 4u);
  BOOST_TEST(s.operators.at("Scale").count == 1u);
  BOOST_TEST(s.operators.at("Scale").flops == 100);
  BOOST_TEST(s.nodes.at(1).cost->flops == 12); // one an element
  BOOST_TEST(s.nodes.at(1).cost->bytes == 96); // 12 floats read and written
  BOOST_TEST(s.cost.flops == 112);
  BOOST_TEST(s.without_cost == 0u);
}

BOOST_AUTO_TEST_CASE(open_extents_are_one_by_default) {
  BOOST_TEST(summarize(*small_graph(), {}).nodes.at(1).cost->flops == 4);
}

BOOST_AUTO_TEST_CASE(a_picture_has_every_node_and_type_but_no_weights) {
  const auto dot = to_dot(*small_graph());
  BOOST_TEST(dot.find("tooltip=\"a \\\"twice\\\"\"") != std::string::npos);
  BOOST_TEST(dot.find("label=\"float32[N, 4]\"") != std::string::npos);
  BOOST_TEST(dot.find("n0 -> n1") != std::string::npos);
  BOOST_TEST(dot.find("n1 -> o0") != std::string::npos);
  BOOST_TEST(dot.find("\"w\"") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_model_with_unknown_operators_can_be_looked_at) {
  const test::temporary_folder folder;
  write_file(folder / "odd.onnx", test::nonsense_model());
  const auto m = read_leniently(folder / "odd.onnx", std::make_shared<op_registry>());
  BOOST_REQUIRE(m.missing.size() == 1u);
  BOOST_TEST(m.missing.front().name == "Nonsense");
  BOOST_TEST(summarize(*m.model.graph, {}).operators.at("Nonsense").count == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
