#include "batch_graphs.hpp"

#include <tests/support/says.hpp>

#include <tests/support/has_operator.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

graph_builder builder(int opset = 17) {
  return graph_builder{standard_operators()->schemas(), opset};
}

edge_ref numbers(graph_builder& g, const std::string& name, std::initializer_list<std::int64_t> n) {
  return g.constant(name, tensor::of<std::int64_t>({static_cast<std::int64_t>(n.size())}, n));
}

edge_ref floats(graph_builder& g, const std::string& name, const shape& s) {
  return g.constant(name, numbered(element_type::float32, s, name.size()));
}

/// Checks that axes are found, and that a batch of three gives what three items give.
batch_axes separable(const graph& g, const std::vector<shape>& of_three) {
  const auto verdict = axes_of(g, of_three);
  BOOST_REQUIRE_MESSAGE(verdict.axes, verdict.reason);
  std::vector<value> inputs;
  for (std::size_t i = 0; i < of_three.size(); ++i)
    inputs.push_back(numbered(g.at_edge(g.inputs()[i]).type.element(), of_three[i], i + 1));
  BOOST_TEST(batch_against_singles(g, inputs, 3, *verdict.axes) <= 1e-5);
  return *verdict.axes;
}

void refused(const graph& g, const std::vector<shape>& shapes, const std::string& node,
             const std::string& why) {
  const auto verdict = axes_of(g, shapes);
  BOOST_TEST(!verdict.axes, node << " mixes items");
  BOOST_TEST(verdict.reason.find(node) != std::string::npos, verdict.reason);
  BOOST_TEST(verdict.reason.find(why) != std::string::npos, verdict.reason);
}

} // namespace

BOOST_AUTO_TEST_SUITE(batch_axes_of_graphs)

BOOST_AUTO_TEST_CASE(a_convolutional_classifier_has_its_batch_in_front, *has_operator("Conv")) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", {"N", 1, 6, 6});
  const auto c = g.op("Conv", {x, floats(g, "w", {4, 1, 3, 3})});
  const auto p = g.op("MaxPool", {g.relu(c)}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
  const auto f = g.op("Flatten", {p});
  const auto y = g.op("Gemm", {f, floats(g, "fc", {36, 5}), floats(g, "bias", {5})});
  g.output("y", g.op("Softmax", {y}, {{"axis", std::int64_t{1}}}));
  const auto axes = separable(*g.build(), {{3, 1, 6, 6}});
  BOOST_TEST(*axes.fed[0] == 0u);
  BOOST_TEST(axes.fetched[0] == 0u);
  BOOST_TEST(axes.items == 3);
}

BOOST_AUTO_TEST_CASE(items_may_have_several_rows) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", {"N", 5, 4});
  const auto rows = g.op("Reshape", {x, numbers(g, "rows", {-1, 4})});
  const auto y = g.matmul(rows, floats(g, "w", {4, 3}));
  g.output("rows_of_all", y);
  g.output("items", g.op("Reshape", {y, numbers(g, "items_shape", {-1, 5, 3})}));
  const auto axes = separable(*g.build(), {{3, 5, 4}});
  BOOST_TEST(axes.fetched_rows[0] == 5);
  BOOST_TEST(axes.fetched_rows[1] == 1);
}

BOOST_AUTO_TEST_CASE(shapes_are_calculated_with_the_number_of_items_as_a_symbol) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", {"N", 5, 4});
  const auto s = g.op("Shape", {x});
  const auto first = [&](const char* name, std::int64_t i) {
    return g.op("Unsqueeze", {g.op("Gather", {s, g.constant(name, tensor::of_scalar<std::int64_t>(i))}),
                              numbers(g, std::string{name} + "_axes", {0})});
  };
  const auto n = first("zero", 0);
  const auto five = g.op("Mul", {first("one", 1), numbers(g, "two", {2})});
  const auto target = g.op("Concat", {n, five, numbers(g, "rest", {-1})}, {{"axis", std::int64_t{0}}});
  const auto y = g.op("Reshape", {x, target});
  const auto filled = g.op("ConstantOfShape",
                           {g.op("Concat", {n, numbers(g, "units", {1, 1})}, {{"axis", std::int64_t{0}}})});
  const auto expanded = g.op("Expand", {floats(g, "bias", {1, 10, 2}), g.op("Shape", {y})});
  g.output("y", g.add(g.add(y, filled), expanded));
  const auto axes = separable(*g.build(), {{3, 5, 4}});
  BOOST_TEST(axes.fetched[0] == 0u);
}

BOOST_AUTO_TEST_CASE(a_recurrent_net_has_its_batch_on_axis_1, *has_operator("LSTM")) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", {4, "N", 3});
  const auto h = g.placeholder<float>("h", {1, "N", 2});
  const auto c = g.placeholder<float>("c", {1, "N", 2});
  const auto out =
      g.op_outputs("LSTM", {x, floats(g, "w", {1, 8, 3}), floats(g, "r", {1, 8, 2}), {}, {}, h, c},
                   {{"hidden_size", std::int64_t{2}}}, {.outputs = {"y", "yh", "yc"}});
  g.output("all", out[0]);
  g.output("last", out[1]);
  const auto axes = separable(*g.build(), {{4, 3, 3}, {1, 3, 2}, {1, 3, 2}});
  BOOST_TEST(*axes.fed[0] == 1u);
  BOOST_TEST(*axes.fed[1] == 1u);
  BOOST_TEST(axes.fetched[0] == 2u);
  BOOST_TEST(axes.fetched[1] == 1u);
}

BOOST_AUTO_TEST_CASE(an_input_may_serve_all_items) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", {"N", 4});
  const auto scale = g.placeholder<float>("scale", {4});
  const auto picked =
      g.op("Gather", {floats(g, "table", {4, 3}), g.placeholder<std::int64_t>("i", {"N", 2})});
  g.output("y", g.op("Mul", {x, scale}));
  g.output("z", picked);
  const auto axes = separable(*g.build(), {{3, 4}, {4}, {3, 2}});
  BOOST_TEST(!axes.fed[1]);
  BOOST_TEST(*axes.fed[2] == 0u);
}

BOOST_AUTO_TEST_CASE(attention_multiplies_each_item_with_itself) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", {"N", 4, 6});
  const auto heads = [&](const std::string& name) {
    const auto p = g.matmul(x, floats(g, name, {6, 6}));
    const auto r = g.op("Reshape", {p, numbers(g, name + "_heads", {0, 0, 2, 3})});
    return g.op("Transpose", {r}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  };
  const auto k = g.op("Transpose", {heads("k")}, {{"perm", std::vector<std::int64_t>{0, 1, 3, 2}}});
  const auto weights = g.op("Softmax", {g.matmul(heads("q"), k)}, {{"axis", std::int64_t{-1}}});
  const auto y =
      g.op("Transpose", {g.matmul(weights, heads("v"))}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  g.output("y", g.op("Reshape", {y, numbers(g, "joined", {0, 0, 6})}));
  separable(*g.build(), {{3, 4, 6}});
}

BOOST_AUTO_TEST_CASE(a_branch_chosen_by_a_shared_value_is_looked_into) {
  const auto branch = [](bool twice) {
    auto b = builder();
    const auto v = b.placeholder<float>("v", {"N", 2});
    b.output("out", twice ? b.add(v, v, "sum") : b.relu(v));
    return b.build();
  };
  auto g = builder();
  const auto x = g.placeholder<float>("x", {"N", 2});
  const auto flag = g.placeholder<bool>("flag", {});
  g.output("y", g.op("If", {flag, x}, {{"then_branch", branch(true)}, {"else_branch", branch(false)}},
                     graph_builder::op_options{.outputs = {"y_of_if"}, .captures = 1}));
  const auto verdict = axes_of(*g.build(), {{3, 2}, {}});
  BOOST_REQUIRE_MESSAGE(verdict.axes, verdict.reason);
  BOOST_TEST(*verdict.axes->fed[0] == 0u);
  BOOST_TEST(!verdict.axes->fed[1]);
}

BOOST_AUTO_TEST_CASE(what_mixes_items_is_refused_and_named) {
  const std::vector<shape> three{{3, 4}};
  auto sum = builder();
  {
    const auto x = sum.placeholder<float>("x", {"N", 4});
    sum.output("y", sum.op("ReduceMean", {x}, {{"axes", std::vector<std::int64_t>{0}}}, "mean"));
  }
  refused(*sum.build(), three, "ReduceMean 'mean'", "reduces over the batch");
  auto flat = builder();
  {
    const auto x = flat.placeholder<float>("x", {"N", 4});
    flat.output("y", flat.op("Reshape", {x, numbers(flat, "two_rows", {2, -1})}, {}, "flat"));
  }
  refused(*flat.build(), three, "Reshape 'flat'", "mixes them");
  auto product = builder();
  {
    const auto x = product.placeholder<float>("x", {"N", 4});
    product.output("y", product.matmul(x, product.op("Transpose", {x}), "gram"));
  }
  refused(*product.build(), three, "MatMul 'gram'", "multiplies items with each other");
  auto drawn = builder();
  {
    const auto x = drawn.placeholder<float>("x", {"N", 4});
    drawn.output("y", drawn.op("RandomNormalLike", {x}, {}, "noise"));
  }
  refused(*drawn.build(), three, "'noise'", "draws");
  auto function = builder();
  {
    const auto x = function.placeholder<float>("x", {"N", 4});
    function.output(
        "y", function.function("mine", {x}, {value_type{element_type::float32, {"N", 4}}},
                               {[](std::span<value> in, std::span<value> out) { out[0] = in[0]; }})[0]);
  }
  refused(*function.build(), three, "'mine'", "function");
  auto first = builder();
  {
    const auto x = first.placeholder<float>("x", {"N", 4});
    first.output("y",
                 first.op("Slice", {x, numbers(first, "from", {0}), numbers(first, "to", {2})}, {}, "two"));
  }
  refused(*first.build(), three, "Slice 'two'", "takes some items");
}

BOOST_AUTO_TEST_CASE(a_mean_over_another_axis_keeps_the_batch) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", {3, "N", 4});
  g.output("y",
           g.op("ReduceMean", {x}, {{"axes", std::vector<std::int64_t>{0}}, {"keepdims", std::int64_t{0}}}));
  const auto axes = separable(*g.build(), {{3, 3, 4}});
  BOOST_TEST(*axes.fed[0] == 1u);
  BOOST_TEST(axes.fetched[0] == 0u);
}

BOOST_AUTO_TEST_CASE(inputs_with_different_numbers_of_items_have_no_batch) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", {"N", 4});
  const auto y = g.placeholder<float>("y", {"M", 4});
  g.output("sum", g.add(x, y));
  const auto verdict = axes_of(*g.build(), {{3, 4}, {1, 4}});
  BOOST_REQUIRE(verdict.axes); // one row serves all
  BOOST_TEST(!verdict.axes->fed[1]);
}

BOOST_AUTO_TEST_CASE(a_batch_of_one_that_a_model_fixes_can_grow) {
  auto g = builder();
  const auto x = g.placeholder<float>("x", {1, 2, 3, 3});
  const auto flat = g.op("Reshape", {x, numbers(g, "fixed", {1, 18})});
  const auto y = g.op("Gemm", {flat, floats(g, "fc", {18, 4})});
  g.output("y", g.op("Reshape", {y, numbers(g, "back", {1, 2, -1})}));
  const auto fixed = g.build();
  BOOST_TEST(!axes_of(*fixed, {{1, 2, 3, 3}}).axes);
  const auto verdict = axes_of(*fixed, {{1, 2, 3, 3}}, fixed_batch::may_grow);
  BOOST_REQUIRE_MESSAGE(verdict.axes, verdict.reason);
  BOOST_TEST(verdict.axes->grown.size() == 2u);
  const auto grown = with_batch_dimension(*fixed, standard_operators()->schemas(),
                                          request_for(*fixed, {{1, 2, 3, 3}}), *verdict.axes);
  const auto axes = separable(*grown, {{3, 2, 3, 3}});
  const auto one = numbered(element_type::float32, {1, 2, 3, 3}, 5);
  const auto before = evaluate(*standard_operators(), *fixed, std::vector<value>{one});
  const auto after = evaluate(*standard_operators(), *grown, std::vector<value>{one});
  BOOST_TEST(std::memcmp(before[0].tensor().raw(), after[0].tensor().raw(), before[0].tensor().bytes()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
