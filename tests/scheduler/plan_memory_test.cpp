#include <sluice/graph/graph_builder.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/memory_plan.hpp>
#include <sluice/scheduler/plan.hpp>
#include <sluice/scheduler/plan_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace sluice;

namespace {

using index = memory_graph::index;

const value_type row{element_type::float32, shape{1, 1024}};

/// A graph that begins with x → Exp, "made", whose memory is looked at.
struct fixture {
  memory_graph make() {
    const auto g = builder.build();
    plan_request request;
    for (const auto e : g->inputs())
      request.fed.push_back({e, g->at_edge(e).type, {}});
    request.fetch.assign(g->outputs().begin(), g->outputs().end());
    return memory_of(*make_plan(g, fold_constants(*g, *operators, memory::heap()), request, kernels)).graph;
  }

  /// Step `s` reads buffer `b`.
  static bool reads(const memory_graph& g, index s, index b) {
    const auto& list = g.steps.at(s).reads;
    return std::count(list.begin(), list.end(), b) > 0;
  }

  edge_ref integers(const char* name, std::vector<std::int64_t> elements) {
    auto t = tensor::make(element_type::int64, {static_cast<std::int64_t>(elements.size())});
    std::copy(elements.begin(), elements.end(), t->data<std::int64_t>().begin());
    return builder.constant(name, std::move(t));
  }

  std::shared_ptr<const operator_library> operators = standard_operators();
  kernel_cache kernels{operators};
  graph_builder builder{operators->schemas()};
  edge_ref x = builder.placeholder("x", row);
  edge_ref made = builder.op("Exp", {x});
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(plan_memory_test, fixture)

BOOST_AUTO_TEST_CASE(outputs_have_buffers_that_their_consumers_read) {
  builder.output("y", builder.op("Softmax", {builder.matmul(made, builder.op("Transpose", {made}))}));
  const auto g = make();
  BOOST_REQUIRE(g.steps.size() == 4u); // Exp, Transpose, MatMul, Softmax
  const auto exp = g.steps[0].makes.at(0);
  BOOST_TEST(g.buffers[exp].bytes == 4096u);
  BOOST_TEST(!g.buffers[exp].leaves);
  BOOST_TEST(g.steps[0].reads.empty()); // what is fed has no buffer
  BOOST_TEST(g.steps[0].in_place.empty());
  BOOST_TEST(reads(g, 1, exp));
  BOOST_TEST(reads(g, 2, exp));
  BOOST_TEST(!reads(g, 3, exp));
  BOOST_TEST(g.steps[2].after.size() == 2u);
  BOOST_TEST(g.steps[0].ns > 0);
}

BOOST_AUTO_TEST_CASE(results_leave) {
  builder.output("y", made);
  builder.output("z", builder.relu(made));
  const auto g = make();
  BOOST_TEST(g.buffers[g.steps[0].makes[0]].leaves);
  BOOST_TEST(g.buffers[g.steps[1].makes[0]].leaves);
  BOOST_TEST(plan_memory(g, unrestricted_order()).bytes == 0u);
}

BOOST_AUTO_TEST_CASE(a_view_has_no_buffer_and_keeps_what_it_looks_into) {
  const auto view = builder.op("Reshape", {made, integers("target", {1024, 1})});
  builder.output("y", builder.matmul(builder.op("Exp", {made}), view));
  const auto g = make();
  BOOST_REQUIRE(g.steps.size() == 4u); // Exp, Reshape, Exp, MatMul
  BOOST_TEST(g.steps[1].makes.empty());
  BOOST_TEST(reads(g, 3, g.steps[0].makes[0]));
  BOOST_TEST(std::count(g.steps[3].after.begin(), g.steps[3].after.end(), 1u) == 1);
  // The second Exp may write over its input, but not while the view is read.
  BOOST_TEST(g.steps[2].in_place.size() == 1u);
  BOOST_TEST(plan_memory(g, unrestricted_order()).takes_over[g.steps[2].makes[0]] == memory_graph::none);
}

BOOST_AUTO_TEST_CASE(what_may_be_a_view_has_a_buffer_and_keeps_its_input) {
  const auto part =
      builder.op("Slice", {made, integers("from", {0}), integers("to", {512}), integers("axis", {1})});
  builder.output("y", builder.relu(builder.op("Exp", {part})));
  const auto g = make();
  BOOST_REQUIRE(g.steps.size() == 4u); // Exp, Slice, Exp, Relu
  BOOST_TEST(g.buffers[g.steps[1].makes.at(0)].bytes == 2048u);
  BOOST_TEST(reads(g, 2, g.steps[0].makes[0]));
  BOOST_TEST(reads(g, 2, g.steps[1].makes[0]));
  BOOST_TEST(!reads(g, 3, g.steps[0].makes[0]));
  BOOST_TEST(g.steps[2].in_place.empty()); // it would write into what it may look into
}

BOOST_AUTO_TEST_CASE(what_a_result_may_look_into_leaves_too) {
  builder.output(
      "y", builder.op("Slice", {made, integers("from", {0}), integers("to", {512}), integers("axis", {1})}));
  const auto g = make();
  BOOST_TEST(g.buffers[g.steps[0].makes[0]].leaves);
}

BOOST_AUTO_TEST_CASE(elementwise_operators_may_work_in_place_if_shapes_agree) {
  const auto column = builder.placeholder("column", {element_type::float32, shape{8, 1}});
  const auto sum = builder.add(made, builder.op("Exp", {column})); // [8, 1024]
  builder.output("y", builder.op("Exp", {builder.op("Mul", {sum, sum})}));
  const auto g = make();
  BOOST_REQUIRE(g.steps.size() == 5u); // Exp, Exp, Add, Mul, Exp
  BOOST_TEST(g.steps[2].in_place.empty());
  BOOST_TEST(g.steps[3].in_place.empty()); // the same input twice
  BOOST_TEST(g.steps[4].in_place.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_functions_and_collections_may_keep_leaves) {
  const auto kept = builder.op("Exp", {x});
  builder.output("f", builder.function("f", {kept}, {row}, {[](auto in, auto out) { out[0] = in[0]; }})[0]);
  builder.output("n", builder.op("SequenceLength", {builder.op("SequenceConstruct", {made})}));
  builder.output("other", builder.relu(builder.op("Sin", {x})));
  const auto g = make();
  std::size_t inside = 0;
  for (const auto& b : g.buffers)
    inside += b.leaves ? 0 : 1;
  BOOST_TEST(inside == 1u); // of Sin
}

BOOST_AUTO_TEST_CASE(what_control_flow_may_pass_on_lives_as_long_as_its_outputs) {
  const auto branch = [&] {
    graph_builder inner{operators->schemas()};
    inner.output("given", inner.op("Identity", {inner.placeholder("captured", row)}));
    return inner.build();
  };
  const auto which = builder.placeholder("which", {element_type::boolean, shape{}});
  const auto chosen =
      builder.op_outputs("If", {which, made}, {{"then_branch", branch()}, {"else_branch", branch()}},
                         {.outputs = {"chosen"}, .captures = 1})[0];
  builder.output("y", builder.relu(builder.op("Exp", {chosen})));
  const auto g = make();
  BOOST_REQUIRE(g.steps.size() == 4u); // Exp, If, Exp, Relu
  BOOST_TEST(g.steps[1].makes.empty());
  BOOST_TEST(reads(g, 2, g.steps[0].makes[0]));
  BOOST_TEST(!g.buffers[g.steps[0].makes[0]].leaves);
}

BOOST_AUTO_TEST_CASE(outputs_of_unknown_size_have_no_buffer) {
  const auto found = builder.op("NonZero", {made});
  builder.output("y", builder.op("Cast", {builder.op("Neg", {found})}, {{"to", std::int64_t{1}}}));
  const auto g = make();
  BOOST_REQUIRE(g.steps.size() == 4u);
  BOOST_TEST(g.steps[1].makes.empty());
  BOOST_TEST(g.steps[2].after.at(0) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
