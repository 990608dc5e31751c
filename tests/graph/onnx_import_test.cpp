#include <sluice/graph/onnx_import.hpp>
#include <sluice/graph/tensor.hpp>

#include <tests/graph/any_operator.hpp>
#include <tests/graph/onnx_models.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>

using namespace sluice;
using namespace sluice::test;

namespace {

onnx_model loaded(const onnx::ModelProto& m, const onnx_options& options = {}) {
  return load_onnx_model(bytes_of(m), any_operator(), options);
}

std::vector<std::string> ops_of(const graph& g) {
  std::vector<std::string> result;
  for (const auto& n : g.nodes())
    result.push_back(n.op);
  return result;
}

std::vector<std::string> edge_names(const graph& g, std::span<const edge_index> edges) {
  std::vector<std::string> result;
  for (const auto e : edges)
    result.push_back(e == no_edge ? "" : g.at_edge(e).name);
  return result;
}

using names = std::vector<std::string>;

const graph& body(const graph& g, std::string_view node, std::string_view attribute) {
  return *g.at(g.find_node(node)).attributes.get<std::shared_ptr<const graph>>(attribute);
}

} // namespace

BOOST_AUTO_TEST_SUITE(onnx_import)

BOOST_AUTO_TEST_CASE(edges_keep_the_names_of_tensors_and_nodes_get_unique_ones) {
  auto m =
      model_with("g (float[N, 3] x) => (float[N, 3] y) { a = Relu(x) b = Relu(a) c = Neg(b) y = Abs(c) }");
  m.mutable_graph()->mutable_node(2)->set_name("Relu_0"); // taken by the name that the first would get
  m.mutable_graph()->mutable_node(3)->set_name("Relu_0");
  const auto model = loaded(m);
  const auto& g = *model.graph;
  BOOST_TEST(g.name() == "g");
  BOOST_TEST(edge_names(g, g.inputs()) == names{"x"}, boost::test_tools::per_element());
  BOOST_TEST(g.output_names().front() == "y");
  names found;
  for (const auto& n : g.nodes())
    found.push_back(n.name);
  BOOST_TEST(found == (names{"Relu_1", "Relu_2", "Relu_0", "Relu_0_0"}), boost::test_tools::per_element());
  BOOST_TEST(model.info.notes.size() == 1);
  BOOST_TEST(to_string(g.at_edge(g.find_edge("x")).type) == "float32[N, 3]");
  BOOST_TEST(to_string(g.at_edge(g.find_edge("y")).type) == "float32[N, 3]");
}

BOOST_AUTO_TEST_CASE(what_the_file_says_about_itself_is_kept) {
  auto m = model_of(R"(<ir_version: 7, opset_import: ["" : 11, "com.example" : 3], producer_name: "maker",
                        producer_version: "1.2", model_version: 5, doc_string: "a model">
                       g (float[1] x) => (float[1] y) { y = Relu(x) })");
  auto& entry = *m.add_metadata_props();
  entry.set_key("author");
  entry.set_value("me");
  const auto info = loaded(m).info;
  BOOST_TEST(info.ir_version == 7);
  BOOST_TEST(info.producer == "maker");
  BOOST_TEST(info.producer_version == "1.2");
  BOOST_TEST(info.model_version == 5);
  BOOST_TEST(info.description == "a model");
  BOOST_TEST(info.opsets.at("") == 11);
  BOOST_TEST(info.opsets.at("com.example") == 3);
  BOOST_TEST(info.metadata.at("author") == "me");
}

BOOST_AUTO_TEST_CASE(nodes_in_any_order_are_sorted) {
  const auto g =
      loaded(model_with("g (float[1] x) => (float[1] y) { y = Neg(b) b = Abs(a) a = Relu(x) }")).graph;
  BOOST_TEST(ops_of(*g) == (names{"Relu", "Abs", "Neg"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(initializers_are_constants_also_where_they_are_inputs_too) {
  auto m = model_with("g (float[2] x, float[2] w) => (float[2] y) { y = Add(x, w) }", 8);
  auto& w = *m.mutable_graph()->add_initializer();
  w.set_name("w");
  w.set_data_type(onnx::TensorProto::FLOAT);
  w.add_dims(2);
  w.add_float_data(1);
  w.add_float_data(2);
  const auto g = loaded(m).graph;
  BOOST_TEST(edge_names(*g, g->inputs()) == names{"x"}, boost::test_tools::per_element());
  BOOST_TEST(g->at_edge(g->find_edge("w")).constant.tensor().data<float>()[1] == 2);
}

BOOST_AUTO_TEST_CASE(constant_nodes_of_every_form_become_constants) {
  auto m = model_with("g (float[1] x) => (float[1] y) { y = Sum(x, i, f, s, is, fs, ss, t) }");
  using proto = onnx::AttributeProto;
  const auto add = [&](const char* output, const char* attribute, proto::AttributeType type, auto fill) {
    auto& n = *m.mutable_graph()->add_node();
    n.set_op_type("Constant");
    n.add_output(output);
    auto& a = *n.add_attribute();
    a.set_name(attribute);
    a.set_type(type);
    fill(a);
  };
  add("i", "value_int", proto::INT, [](proto& a) { a.set_i(7); });
  add("f", "value_float", proto::FLOAT, [](proto& a) { a.set_f(0.5f); });
  add("s", "value_string", proto::STRING, [](proto& a) { a.set_s("text"); });
  add("is", "value_ints", proto::INTS, [](proto& a) { a.add_ints(1), a.add_ints(2); });
  add("fs", "value_floats", proto::FLOATS, [](proto& a) { a.add_floats(3); });
  add("ss", "value_strings", proto::STRINGS, [](proto& a) { a.add_strings("a"), a.add_strings("b"); });
  add("t", "value", proto::TENSOR, [](proto& a) {
    a.mutable_t()->set_data_type(onnx::TensorProto::INT8);
    a.mutable_t()->add_int32_data(-3);
  });
  const auto g = loaded(m).graph;
  const auto constant = [&](const char* name) { return g->at_edge(g->find_edge(name)).constant; };
  BOOST_TEST(g->nodes().size() == 1);
  BOOST_TEST(constant("i").scalar<std::int64_t>() == 7);
  BOOST_TEST(constant("f").scalar<float>() == 0.5f);
  BOOST_TEST(constant("s").scalar<std::string>() == "text");
  BOOST_TEST(describe(constant("is")) == "int64[2]");
  BOOST_TEST(describe(constant("fs")) == "float32[1]");
  BOOST_TEST(constant("ss").tensor().data<std::string>()[1] == "b");
  BOOST_TEST(constant("t").scalar<std::int8_t>() == -3);
}

BOOST_AUTO_TEST_CASE(declared_types_refine_and_wrong_shapes_give_way_with_a_note) {
  auto registry = any_operator();
  op_schema fixed;
  fixed.name = "Fixed";
  fixed.infer = [](const op_view&) { return std::vector<value_type>{{element_type::float32, {2, 3}}}; };
  registry->add(std::move(fixed));
  auto m = model_with("g (float[2, 3] x) => (float[9] y) { a = Relu(x) y = Fixed(a) }");
  auto& v = *m.mutable_graph()->add_value_info();
  v.set_name("a");
  v.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  v.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(6);
  const auto model = load_onnx_model(bytes_of(m), registry);
  const auto& g = *model.graph;
  BOOST_TEST(to_string(g.at_edge(g.find_edge("a")).type) == "float32[6]");
  BOOST_TEST(to_string(g.at_edge(g.find_edge("y")).type) == "float32[2, 3]");
  BOOST_REQUIRE(model.info.notes.size() == 1);
  BOOST_TEST(model.info.notes.front() == "value 'y' is declared float32[9], but is float32[2, 3]");

  v.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  m.mutable_graph()->mutable_node(0)->set_op_type("Fixed");
  BOOST_CHECK_EXCEPTION(load_onnx(bytes_of(m), registry), error,
                        says(errc::invalid_model, {"'a'", "declared int64", "float32[2, 3]"}));
}

BOOST_AUTO_TEST_CASE(shapes_of_inputs_can_be_given) {
  const auto m = model_with("g (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) }");
  onnx_options options;
  options.input_shapes["x"] = {4, 3};
  BOOST_TEST(to_string(loaded(m, options).graph->at_edge(0).type) == "float32[4, 3]");
  options.input_shapes["z"] = {1};
  BOOST_CHECK_EXCEPTION(loaded(m, options), error, says(errc::invalid_argument, {"'z'"}));
}

BOOST_AUTO_TEST_CASE(optional_inputs_and_outputs_may_be_left_out) {
  auto m = model_with("g (float[1] x) => (float[1] y) { y = Clip(x, lo, hi) }", 13);
  auto& n = *m.mutable_graph()->mutable_node(0);
  n.set_op_type("LSTM");
  n.set_input(1, "");
  n.set_input(2, "x");
  n.set_output(0, "");
  n.add_output("y");
  n.add_output("");
  const auto g = loaded(m).graph;
  const auto& node = g->nodes().front();
  BOOST_TEST(edge_names(*g, node.inputs) == (names{"x", "", "x"}), boost::test_tools::per_element());
  BOOST_TEST(node.outputs.size() == 2); // the trailing one is gone
  BOOST_TEST(g->at_edge(node.outputs[1]).name == "y");
}

BOOST_AUTO_TEST_CASE(attributes_of_every_type_arrive) {
  auto m = model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }");
  auto& n = *m.mutable_graph()->mutable_node(0);
  using proto = onnx::AttributeProto;
  const auto add = [&](const char* name, proto::AttributeType type) -> proto& {
    auto& a = *n.add_attribute();
    a.set_name(name);
    a.set_type(type);
    return a;
  };
  add("f", proto::FLOAT).set_f(1.5f);
  add("i", proto::INT).set_i(-2);
  add("s", proto::STRING).set_s("s");
  add("fs", proto::FLOATS).add_floats(2);
  add("is", proto::INTS).add_ints(3);
  add("ss", proto::STRINGS).add_strings("t");
  add("empty", proto::INTS);
  add("t", proto::TENSOR).mutable_t()->set_data_type(onnx::TensorProto::INT64);
  n.mutable_attribute()->rbegin()->mutable_t()->add_int64_data(9);
  auto& ts = add("ts", proto::TENSORS);
  *ts.add_tensors() = n.attribute(n.attribute_size() - 2).t();
  add("tp", proto::TYPE_PROTO).mutable_tp()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
  auto& untyped = *n.add_attribute(); // as the first models have it
  untyped.set_name("old");
  untyped.set_i(4);
  const auto g = loaded(m).graph;
  const auto& a = g->nodes().front().attributes;
  BOOST_TEST(a.get<float>("f") == 1.5f);
  BOOST_TEST(a.get<std::int64_t>("i") == -2);
  BOOST_TEST(a.get<std::string>("s") == "s");
  BOOST_TEST(a.get<std::vector<float>>("fs").front() == 2);
  BOOST_TEST(a.get<std::vector<std::int64_t>>("is").front() == 3);
  BOOST_TEST(a.get<std::vector<std::string>>("ss").front() == "t");
  BOOST_TEST(a.get<std::vector<std::int64_t>>("empty").empty());
  BOOST_TEST(a.get<value>("t").scalar<std::int64_t>() == 9);
  BOOST_TEST(describe(a.get<value>("ts")) == "sequence of 1");
  BOOST_TEST(to_string(a.get<value_type>("tp")) == "bool[...]");
  BOOST_TEST(a.get<std::int64_t>("old") == 4);
}

BOOST_AUTO_TEST_CASE(opsets_of_other_domains_reach_their_nodes) {
  auto registry = any_operator();
  op_schema own;
  own.name = "Own";
  own.domain = "com.example";
  own.since_opset = 2;
  own.infer = [](const op_view& v) { return std::vector<value_type>{v.input(0)}; };
  registry->add(std::move(own));
  auto m = model_of(R"(<ir_version: 8, opset_import: ["ai.onnx" : 17, "com.example" : 3]>
                       g (float[1] x) => (float[1] y) { a = com.example.Own(x) y = ai.onnx.Relu(a) })");
  const auto g = load_onnx(bytes_of(m), registry);
  BOOST_TEST(g->nodes()[0].domain == "com.example");
  BOOST_TEST(g->nodes()[0].opset == 3);
  BOOST_TEST(g->nodes()[1].domain.empty());
  BOOST_TEST(g->nodes()[1].opset == 17);
}

BOOST_AUTO_TEST_CASE(all_unsupported_operators_are_listed_at_once) {
  auto m = model_of(R"(<ir_version: 8, opset_import: ["" : 17, "com.example" : 3]>
    g (float[1] x, bool[1] c) => (float[1] y) {
      a = com.example.Own(x)
      b = Nonsense(a)
      y = If (c) <then_branch = t () => (float[1] p) { p = Nonsense(b) }, else_branch = e () => (float[1] q) { q = Neg(b) }>
    })");
  m.mutable_graph()->mutable_node(1)->set_name("the_first");
  const auto check = [](const std::vector<unsupported_operator>& list) {
    BOOST_REQUIRE(list.size() == 2);
    BOOST_TEST(list[0].name == "Own");
    BOOST_TEST(list[0].domain == "com.example");
    BOOST_TEST(list[0].opset == 3);
    BOOST_TEST(list[0].count == 1);
    BOOST_TEST(list[1].name == "Nonsense");
    BOOST_TEST(list[1].opset == 17);
    BOOST_TEST(list[1].count == 2);
    BOOST_TEST(list[1].first_node == "the_first");
  };
  try {
    (void)loaded(m);
    BOOST_ERROR("it was accepted");
  } catch (const unsupported_operators& e) {
    check(e.operators());
    BOOST_CHECK(says(errc::unsupported, {"com.example::Own (opset 3, 1 node",
                                         "Nonsense (opset 17, 2 nodes, first 'the_first'"})(e));
  }
  const temporary_folder folder;
  write(folder / "m.onnx", bytes_of(m));
  check(find_unsupported(folder / "m.onnx", *any_operator()));
}

BOOST_AUTO_TEST_CASE(versions_of_operators_that_are_not_known_are_unsupported) {
  const auto text = "g (float[1] x) => (float[1] y) { y = Resize(x) }";
  BOOST_TEST(loaded(model_with(text, 18)).graph->nodes().size() == 1);
  BOOST_CHECK_EXCEPTION(loaded(model_with(text, 19)), unsupported_operators,
                        says(errc::unsupported, {"Resize (opset 19"}));
  BOOST_TEST(loaded(model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }", 21)).graph->nodes().size() ==
             1);

  BOOST_CHECK_EXCEPTION(loaded(model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }", 1000)), error,
                        says(errc::unsupported, {"Relu (opset 1000", "known only as it was at opset 28"}));

  auto late = std::make_shared<op_registry>();
  op_schema relu;
  relu.name = "Relu";
  relu.since_opset = 14;
  late->add(std::move(relu));
  BOOST_CHECK_EXCEPTION(
      load_onnx(bytes_of(model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }", 6)), late),
      unsupported_operators, says(errc::unsupported, {"Relu (opset 6", "not known for this opset"}));
}

BOOST_AUTO_TEST_CASE(a_model_is_read_from_a_file_and_named_in_errors) {
  const temporary_folder folder;
  const auto file = folder / "m.onnx";
  write(file, bytes_of(model_with("g (float[1] x) => (float[1] y) { y = Relu(x) }")));
  BOOST_TEST(load_onnx(file, any_operator())->nodes().size() == 1);
  write(file, bytes_of(model_with("g (float[1] x) => (float[1] y) { y = Relu(z) }")));
  BOOST_CHECK_EXCEPTION(load_onnx(file, any_operator()), error,
                        says(errc::invalid_model, {file.string(), "'z'"}));
  BOOST_CHECK_EXCEPTION(load_onnx(folder / "none.onnx", any_operator()), error,
                        says(errc::io_failed, {"none.onnx"}));
  BOOST_CHECK_EXCEPTION(load_onnx(folder.path(), any_operator()), error, says(errc::io_failed, {"folder"}));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(onnx_bodies)

BOOST_AUTO_TEST_CASE(captures_follow_own_inputs_in_one_order_for_all_bodies) {
  const auto g = loaded(model_with(R"(
    g (bool c, float[1] x, float[1] u, float[1] v) => (float[1] y) {
      y = If (c) <then_branch = t () => (float[1] p) { p = Add(u, x) },
                  else_branch = e () => (float[1] q) { u = Neg(v)  q = Add(u, x) }>
    })"))
                     .graph;
  const auto& owner = g->nodes().front();
  BOOST_TEST(edge_names(*g, owner.inputs) == (names{"c", "u", "x", "v"}), boost::test_tools::per_element());
  BOOST_TEST(owner.captures == 3);
  const auto& t = body(*g, "If_0", "then_branch");
  const auto& e = body(*g, "If_0", "else_branch");
  BOOST_TEST(edge_names(t, t.inputs()) == (names{"u", "x", "v"}), boost::test_tools::per_element());
  // The second body has an own 'u', so the captured one has another name there.
  BOOST_TEST(edge_names(e, e.inputs()) == (names{"u/outer", "x", "v"}), boost::test_tools::per_element());
  BOOST_TEST(e.at_edge(e.find_edge("u")).producer == 0);
}

BOOST_AUTO_TEST_CASE(formal_inputs_of_a_body_come_before_its_captures) {
  const auto g = loaded(model_with(R"(
    g (int64 m, bool c, float[1] x, float[1] k) => (float[1] y) {
      y = Loop (m, c, x) <body = b (int64 i, bool go, float[1] s) => (bool again, float[1] next)
                                 { again = Identity(go)  next = Add(s, k) }>
    })"))
                     .graph;
  const auto& b = body(*g, "Loop_0", "body");
  BOOST_TEST(edge_names(b, b.inputs()) == (names{"i", "go", "s", "k"}), boost::test_tools::per_element());
  BOOST_TEST(edge_names(*g, g->nodes().front().inputs) == (names{"m", "c", "x", "k"}),
             boost::test_tools::per_element());
  BOOST_TEST(to_string(b.at_edge(b.find_edge("k")).type) == "float32[1]");
}

BOOST_AUTO_TEST_CASE(captures_pass_through_the_bodies_between) {
  const auto g = loaded(model_with(R"(
    g (bool c, float[1] x, float[1] z) => (float[1] y) {
      a = Relu(x)
      y = If (c) <
        then_branch = t1 () => (float[1] p) {
          p = If (c) <then_branch = t2 () => (float[1] q) { q = Neg(a) },
                      else_branch = e2 () => (float[1] r) { r = Neg(z) }>
        },
        else_branch = e1 () => (float[1] x) { }>
    })"))
                     .graph;
  const auto& owner = g->nodes().back();
  BOOST_TEST(edge_names(*g, owner.inputs) == (names{"c", "c", "a", "z", "x"}),
             boost::test_tools::per_element());
  const auto& inner = body(*g, "If_0", "then_branch").nodes().front();
  BOOST_TEST(inner.captures == 2);
  // A branch may give out a value of its surroundings as it is.
  const auto& pass = body(*g, "If_0", "else_branch");
  BOOST_TEST(pass.nodes().empty());
  BOOST_TEST(pass.at_edge(pass.outputs().front()).name == "x");
}

BOOST_AUTO_TEST_CASE(constants_are_bound_in_bodies_and_not_captured) {
  auto m = model_with(R"(
    g (bool c, float[1] x) => (float[1] y) {
      k = Constant <value_float = 2.0> ()
      y = If (c) <then_branch = t () => (float[1] p) { p = Add(x, k) },
                  else_branch = e () => (float[1] q) { q = Add(x, w) }>
    })");
  auto& w = *m.mutable_graph()->add_initializer();
  w.set_name("w");
  w.set_data_type(onnx::TensorProto::FLOAT);
  w.add_float_data(3);
  const auto g = loaded(m).graph;
  BOOST_TEST(edge_names(*g, g->nodes().front().inputs) == (names{"c", "x"}),
             boost::test_tools::per_element());
  const auto& t = body(*g, "If_0", "then_branch");
  const auto& e = body(*g, "If_0", "else_branch");
  BOOST_TEST(t.at_edge(t.find_edge("k")).constant.scalar<float>() == 2);
  const auto& bound = e.at_edge(e.find_edge("w")).constant;
  BOOST_TEST(bound.body() == g->at_edge(g->find_edge("w")).constant.body()); // shared, not copied
}

BOOST_AUTO_TEST_CASE(a_body_may_give_the_same_value_twice) {
  const auto g = loaded(model_with(R"(
    g (bool c, float[1] x) => (float[1] y) {
      y, z = If (c) <then_branch = t () => (float[1] p, float[1] p) { p = Neg(x) },
                     else_branch = e () => (float[1] q, float[1] r) { q = Neg(x) r = Abs(x) }>
    })"))
                     .graph;
  const auto& t = body(*g, "If_0", "then_branch");
  BOOST_REQUIRE(t.outputs().size() == 2);
  BOOST_TEST(t.outputs()[0] == t.outputs()[1]);
}

BOOST_AUTO_TEST_SUITE_END()
