#include <sluice/graph/onnx_import.hpp>
#include <sluice/graph/tensor.hpp>

#include <tests/graph/any_operator.hpp>
#include <tests/graph/onnx_models.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

using names = std::vector<std::string>;

/// A model of the graph, with the functions of domain "f" that the texts describe.
onnx::ModelProto with_functions(const std::string& graph, const std::vector<std::string>& functions) {
  auto m = model_of("<ir_version: 8, opset_import: [\"\" : 17, \"f\" : 1]>\n" + graph);
  for (const auto& text : functions) {
    const auto status = onnx::OnnxParser::Parse(*m.add_functions(), text.c_str());
    BOOST_REQUIRE_MESSAGE(status.IsOK(), status.ErrorMessage());
  }
  return m;
}

std::shared_ptr<const graph> loaded(const onnx::ModelProto& m, const onnx_options& options = {}) {
  return load_onnx(bytes_of(m), any_operator(), options);
}

names node_names(const graph& g) {
  names result;
  for (const auto& n : g.nodes())
    result.push_back(n.op + ' ' + n.name);
  return result;
}

} // namespace

BOOST_AUTO_TEST_SUITE(onnx_functions)

BOOST_AUTO_TEST_CASE(calls_are_inlined_with_names_of_their_own) {
  const auto g = loaded(with_functions("g (float[1] x) => (float[1] y) { a = f.twice(x) y = f.twice(a) }",
                                       {R"(<domain: "f", opset_import: ["" : 17]>
                                           twice (v) => (r) { h = Relu(v) r = Neg(h) })"}));
  BOOST_TEST(node_names(*g) == (names{"Relu twice_0/Relu_0", "Neg twice_0/Neg_0", "Relu twice_1/Relu_0",
                                      "Neg twice_1/Neg_0"}),
             boost::test_tools::per_element());
  BOOST_TEST(g->find_edge("twice_0/h") != no_edge);
  BOOST_TEST(g->at_edge(g->find_edge("a")).producer == 1); // the caller's names stay
  BOOST_TEST(g->at_edge(g->find_edge("y")).producer == 3);
}

BOOST_AUTO_TEST_CASE(functions_may_call_others_and_have_their_own_opset) {
  const auto g =
      loaded(with_functions("g (float[1] x) => (float[1] y) { y = f.outer(x) }",
                            {R"(<domain: "f", opset_import: ["" : 13, "f" : 1]>
                                           outer (v) => (r) { r = f.inner(v) })",
                             R"(<domain: "f", opset_import: ["" : 12]> inner (v) => (r) { r = Relu(v) })"}));
  BOOST_REQUIRE(g->nodes().size() == 1);
  BOOST_TEST(g->nodes().front().name == "outer_0/inner_0/Relu_0");
  BOOST_TEST(g->nodes().front().opset == 12);
}

BOOST_AUTO_TEST_CASE(attributes_of_the_call_reach_the_nodes_inside) {
  auto m =
      with_functions("g (float[1] x) => (float[1] y) { a = f.leaky <slope = 0.25> (x)  y = f.leaky (a) }",
                     {R"(<domain: "f", opset_import: ["" : 17]>
                              leaky <slope> (v) => (r) { r = LeakyRelu <alpha : float = @slope> (v) })"});
  const auto g = loaded(m);
  BOOST_TEST(g->nodes()[0].attributes.get<float>("alpha") == 0.25f);
  BOOST_TEST(!g->nodes()[1].attributes.has("alpha")); // left out by the call, so left out inside
}

BOOST_AUTO_TEST_CASE(optional_inputs_of_a_function_may_be_left_out) {
  const auto g = loaded(with_functions("g (float[1] x) => (float[1] y) { y = f.some(x) }",
                                       {R"(<domain: "f", opset_import: ["" : 17]>
                                           some (v, w) => (r) { r = Sum(v, w, v) })"}));
  BOOST_TEST(g->nodes().front().inputs[1] == no_edge);
}

BOOST_AUTO_TEST_CASE(a_body_inside_a_function_takes_what_the_function_has) {
  const auto g = loaded(with_functions(R"(g (bool c, float[1] x) => (float[1] y) { y = f.choose(c, x) })",
                                       {R"(<domain: "f", opset_import: ["" : 17]> choose (b, v) => (r) {
                                             r = If (b) <then_branch = t () => (float[1] p) { p = Neg(v) },
                                                         else_branch = e () => (float[1] q) { q = Abs(v) }> })"}));
  BOOST_TEST(g->at_edge(g->nodes().front().inputs[1]).name == "x");
}

BOOST_AUTO_TEST_CASE(operators_that_onnx_defines_by_others_are_expanded) {
  const auto g =
      loaded(model_with("g (float[2] x, float[2] z) => (bool[2] y) { y = GreaterOrEqual(x, z) }", 12));
  for (const auto& n : g->nodes())
    BOOST_TEST(n.name.rfind("GreaterOrEqual_0/", 0) == 0);
  BOOST_TEST(g->nodes().size() == 3);
  BOOST_TEST(g->at_edge(g->find_edge("y")).producer != no_node);
}

BOOST_AUTO_TEST_CASE(definitions_that_depend_on_types_are_expanded) {
  const auto g = loaded(model_with("g (float[2] x) => (float[2] y) { y = Celu <alpha = 2.0> (x) }", 12));
  BOOST_TEST(g->nodes().size() > 2);
  BOOST_TEST(to_string(g->at_edge(g->find_edge("y")).type) == "float32[2]");
}

BOOST_AUTO_TEST_CASE(the_bodies_of_sequence_map_take_values_from_outside) {
  auto m = model_with(R"(g (float[2] s, float[2] k) => (float[2] y) {
                           y = SequenceMap (s) <body = b (float[2] i) => (float[2] o) { o = Add(i, k) }> })");
  for (auto* v : {m.mutable_graph()->mutable_input(0), m.mutable_graph()->mutable_output(0)}) {
    const auto item = v->type();
    *v->mutable_type()->mutable_sequence_type()->mutable_elem_type() = item;
  }
  const auto g = loaded(m);
  const auto loop =
      std::find_if(g->nodes().begin(), g->nodes().end(), [](const auto& n) { return n.op == "Loop"; });
  BOOST_REQUIRE(loop != g->nodes().end());
  BOOST_TEST(loop->captures == 2); // the sequence and k
}

BOOST_AUTO_TEST_CASE(a_function_may_hand_an_input_through) {
  const auto g = loaded(with_functions("g (float[1] x) => (float[1] y) { a = f.same(x) y = Neg(a) }",
                                       {R"(<domain: "f", opset_import: ["" : 17]> same (v) => (v) { })"}));
  BOOST_TEST(g->at_edge(g->nodes().front().inputs.front()).name == "x");
}

BOOST_AUTO_TEST_CASE(functions_that_call_each_other_are_refused) {
  const auto m =
      with_functions("g (float[1] x) => (float[1] y) { y = f.a(x) }",
                     {R"(<domain: "f", opset_import: ["" : 17, "f" : 1]> a (v) => (r) { r = f.b(v) })",
                      R"(<domain: "f", opset_import: ["" : 17, "f" : 1]> b (v) => (r) { r = f.a(v) })"});
  BOOST_CHECK_EXCEPTION(loaded(m), error, says(errc::invalid_model, {"function 'a' calls itself"}));
}

BOOST_AUTO_TEST_CASE(functions_that_multiply_are_stopped_by_the_limit) {
  std::vector<std::string> functions;
  for (int i = 0; i < 30; ++i) {
    const auto next = i == 29 ? std::string{"Relu"} : "f.f" + std::to_string(i + 1);
    functions.push_back("<domain: \"f\", opset_import: [\"\" : 17, \"f\" : 1]> f" + std::to_string(i) +
                        " (v) => (r) { a = " + next + "(v) r = " + next + "(a) }");
  }
  onnx_options options;
  options.max_nodes = 10'000;
  BOOST_CHECK_EXCEPTION(
      loaded(with_functions("g (float[1] x) => (float[1] y) { y = f.f0(x) }", functions), options), error,
      says(errc::unsupported, {"more than 10000 nodes"}));
}

BOOST_AUTO_TEST_CASE(functions_that_are_not_well_formed_are_refused) {
  const std::string head = "<domain: \"f\", opset_import: [\"\" : 17]> ";
  const std::string graph = "g (float[1] x) => (float[1] y) { y = f.a(x) }";
  BOOST_CHECK_EXCEPTION(loaded(with_functions(graph, {head + "a (v) => (r) { s = Relu(v) }"})), error,
                        says(errc::invalid_model, {"function 'a'", "'r'"}));
  BOOST_CHECK_EXCEPTION(loaded(with_functions(graph, {head + "a (v) => (r) { r = Relu(x) }"})), error,
                        says(errc::invalid_model, {"'x', which nothing produces"}));
  BOOST_CHECK_EXCEPTION(loaded(with_functions(graph, {head + "a () => (r) { r = Relu(r) }"})), error,
                        says(errc::invalid_model, {"f::a", "gives 1 inputs"}));
  BOOST_CHECK_EXCEPTION(loaded(with_functions(graph, {head + "a (v) => (v) { v = Relu(v) }"})), error,
                        says(errc::invalid_model, {"'v'"}));
  BOOST_CHECK_EXCEPTION(loaded(with_functions(graph, {head + "a (v) => (r) { r = Relu(v) }",
                                                      head + "a (v) => (r) { r = Abs(v) }"})),
                        error, says(errc::invalid_model, {"function 'a' is defined twice"}));
}

BOOST_AUTO_TEST_SUITE_END()
