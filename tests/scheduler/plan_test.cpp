#include <sluice/graph/graph_builder.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/plan.hpp>

#include <tests/support/says.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;

namespace {

const value_type scalar{element_type::float32, shape{}};

graph_function pass(function_kind kind = function_kind::pure) {
  return {[](std::span<value> in, std::span<value> out) { out[0] = in[0]; }, kind};
}

struct fixture {
  graph_builder builder() const { return graph_builder{operators->schemas()}; }

  std::shared_ptr<const plan> make(const std::shared_ptr<const graph>& g,
                                   const std::vector<std::pair<std::string, value_type>>& fed,
                                   const std::vector<std::string>& fetch) {
    plan_request request;
    for (const auto& [name, type] : fed)
      request.fed.push_back({g->find_edge(name), type, {}});
    std::sort(request.fed.begin(), request.fed.end(),
              [](const auto& a, const auto& b) { return a.edge < b.edge; });
    for (const auto& name : fetch)
      request.fetch.push_back(g->find_edge(name));
    return make_plan(g, fold_constants(*g, *operators, memory::heap()), request, kernels);
  }

  /// The names of the nodes that a plan executes, in its order.
  static std::string executed(const plan& p) {
    std::string names;
    for (const auto& s : p.steps)
      names += (names.empty() ? "" : " ") + p.source->at(s.node).name;
    return names;
  }

  std::shared_ptr<const operator_library> operators = standard_operators();
  kernel_cache kernels{operators};
};

/// x → a → b → c, and a → d; c and d are outputs.
std::shared_ptr<const graph> forked(graph_builder g) {
  const auto x = g.placeholder("x", scalar);
  const auto a = g.function("a", {x}, {scalar}, pass())[0];
  const auto b = g.function("b", {a}, {scalar}, pass())[0];
  g.output("c_out", g.function("c", {b}, {scalar}, pass())[0]);
  g.output("d_out", g.function("d", {a}, {scalar}, pass())[0]);
  return g.build();
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(plan_test, fixture)

BOOST_AUTO_TEST_CASE(only_what_the_fetched_values_need_is_executed_in_topological_order) {
  const auto g = forked(builder());
  BOOST_TEST(executed(*make(g, {{"x", scalar}}, {"c", "d"})) == "a b c d");
  BOOST_TEST(executed(*make(g, {{"x", scalar}}, {"d"})) == "a d");
  BOOST_TEST(executed(*make(g, {{"x", scalar}}, {"b"})) == "a b");
  BOOST_TEST(executed(*make(g, {{"x", scalar}}, {"x"})) == "");
  const auto d = make(g, {{"x", scalar}}, {"d"});
  BOOST_TEST(d->step_of[g->find_node("d")] == 1u);
  BOOST_TEST(d->step_of[g->find_node("b")] == plan::no_step);
}

BOOST_AUTO_TEST_CASE(a_fed_intermediate_value_cuts_off_what_computes_it) {
  const auto g = forked(builder());
  BOOST_TEST(executed(*make(g, {{"b", scalar}}, {"c"})) == "c");
  BOOST_TEST(executed(*make(g, {{"b", scalar}, {"x", scalar}}, {"c", "d"})) == "a c d");
  BOOST_CHECK_EXCEPTION(static_cast<void>(make(g, {{"b", scalar}}, {"d"})), error,
                        test::says(errc::invalid_argument, "'x' is not fed"));
}

BOOST_AUTO_TEST_CASE(routes_lead_from_feeds_through_nodes_to_results) {
  const auto g = forked(builder());
  const auto p = make(g, {{"x", scalar}}, {"d", "c", "a"});
  BOOST_TEST(executed(*p) == "a b c d");
  BOOST_TEST_REQUIRE(p->feed_routes.size() == 1u);
  BOOST_TEST_REQUIRE(p->feed_routes[0].size() == 1u);
  BOOST_TEST(p->feed_routes[0][0].step == 0u);
  const auto& of_a = p->steps[0].routes.at(0);
  BOOST_TEST_REQUIRE(of_a.size() == 3u);
  BOOST_TEST(of_a[0].step == 1u);
  BOOST_TEST(of_a[1].step == 3u);
  BOOST_TEST(of_a[2].step == plan_step::to_result);
  BOOST_TEST(of_a[2].port == 2u);
  const auto& of_d = p->steps[3].routes.at(0);
  BOOST_TEST(of_d.at(0).step == plan_step::to_result);
  BOOST_TEST(of_d.at(0).port == 0u);
  for (const auto& s : p->steps)
    BOOST_TEST(s.dynamic_inputs == 1u);
  BOOST_TEST(p->sources.empty());
}

BOOST_AUTO_TEST_CASE(a_value_that_enters_a_node_twice_arrives_twice) {
  auto b = builder();
  const auto x = b.placeholder("x", scalar);
  b.output("y", b.add(x, x, "twice"));
  const auto p = make(b.build(), {{"x", scalar}}, {"twice"});
  BOOST_TEST(p->steps.at(0).dynamic_inputs == 2u);
  BOOST_TEST(p->feed_routes.at(0).size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_passed_through_input_and_a_constant_are_results_that_no_step_makes) {
  auto b = builder();
  const auto x = b.placeholder("x", scalar);
  const auto c = b.constant("c", tensor::of_scalar(3.f));
  b.output("x_out", x);
  b.output("c_out", c);
  const auto g = b.build();
  const auto p = make(g, {{"x", scalar}}, {"c", "x"});
  BOOST_TEST(p->steps.empty());
  BOOST_TEST_REQUIRE(p->direct.size() == 2u);
  BOOST_TEST(p->direct[0].fed == no_edge);
  BOOST_TEST(p->direct[0].constant.scalar<float>() == 3);
  BOOST_TEST(p->direct[1].fed == g->find_edge("x"));
}

BOOST_AUTO_TEST_CASE(constants_are_bound_not_sent_and_folded_where_all_is_known) {
  auto b = builder();
  const auto x = b.placeholder("x", scalar);
  const auto c = b.constant("c", tensor::of_scalar(3.f));
  const auto six = b.add(c, c, "six");
  b.output("y", b.add(x, six, "y"));
  const auto p = make(b.build(), {{"x", scalar}}, {"y"});
  BOOST_TEST(executed(*p) == "y");
  BOOST_TEST(p->steps[0].dynamic_inputs == 1u);
  BOOST_TEST_REQUIRE(p->steps[0].constants.size() == 1u);
  BOOST_TEST(p->steps[0].constants[0].port == 1u);
  BOOST_TEST(p->steps[0].constants[0].constant.scalar<float>() == 6);
}

BOOST_AUTO_TEST_CASE(chains_of_shapes_are_computed_when_planned_and_what_fed_only_them_is_dropped) {
  auto b = builder();
  const auto x = b.placeholder<float>("x", {"n", "m"});
  const auto only_for_its_shape = b.relu(x, "only_for_its_shape");
  const auto dims = b.op("Shape", {only_for_its_shape}, {}, "dims");
  const auto flat = b.op("ReduceProd", {dims}, {{"keepdims", std::int64_t{1}}}, "flat");
  b.output("y", b.op("Reshape", {x, flat}, {}, "y"));
  const auto p = make(b.build(), {{"x", value_type{element_type::float32, shape{3, 4}}}}, {"y"});
  BOOST_TEST(executed(*p) == "y");
  BOOST_TEST(p->steps[0].dynamic_inputs == 1u);
  BOOST_TEST(to_string(p->steps[0].output_types.at(0)) == "float32[12]");
  BOOST_TEST(p->loose_bytes == 0u); // a view needs no bytes
}

BOOST_AUTO_TEST_CASE(a_shape_known_only_when_it_arrives_is_left_to_the_firing) {
  auto b = builder();
  const auto x = b.placeholder<float>("x", {"n"});
  const auto found = b.op("NonZero", {x}, {}, "found");
  b.output("y", b.op("Shape", {found}, {}, "count"));
  const auto p = make(b.build(), {{"x", value_type{element_type::float32, shape{4}}}}, {"count"});
  BOOST_TEST(executed(*p) == "found count");
}

BOOST_AUTO_TEST_CASE(a_node_with_state_runs_only_where_its_value_is_needed) {
  auto b = builder();
  const auto x = b.placeholder("x", scalar);
  const auto log = b.function("log", {x}, {scalar}, pass(function_kind::stateful))[0];
  b.output("y", b.function("y", {log}, {scalar}, pass())[0]);
  b.output("z", b.function("z", {x}, {scalar}, pass())[0]);
  const auto g = b.build();
  BOOST_TEST(executed(*make(g, {{"x", scalar}}, {"y"})) == "log y");
  BOOST_TEST(executed(*make(g, {{"x", scalar}}, {"z"})) == "z");
}

BOOST_AUTO_TEST_CASE(bodies_are_planned_with_the_constants_that_they_capture) {
  auto then_branch = builder();
  {
    const auto t = then_branch.placeholder("t", scalar);
    const auto k = then_branch.placeholder("k", scalar);
    const auto doubled = then_branch.add(k, k, "doubled");
    then_branch.output("out", then_branch.add(t, doubled, "out"));
  }
  auto else_branch = builder();
  {
    static_cast<void>(else_branch.placeholder("t", scalar));
    const auto k = else_branch.placeholder("k", scalar);
    else_branch.output("out", k);
  }
  auto b = builder();
  const auto which = b.placeholder("which", {element_type::boolean, shape{}});
  const auto x = b.placeholder("x", scalar);
  const auto k = b.constant("k", tensor::of_scalar(4.f));
  b.output("y", b.op("If", {which, x, k},
                     {{"then_branch", then_branch.build()}, {"else_branch", else_branch.build()}},
                     graph_builder::op_options{.name = "if", .captures = 2}));
  const auto g = b.build();
  const auto p = make(g, {{"which", {element_type::boolean, shape{}}}, {"x", scalar}},
                      {g->at_edge(g->outputs()[0]).name});
  BOOST_TEST_REQUIRE(p->steps.size() == 1u);
  BOOST_TEST_REQUIRE(p->steps[0].bodies.size() == 2u);
  const auto& taken = *p->steps[0].bodies[0];
  BOOST_TEST(executed(taken) == "out");
  BOOST_TEST_REQUIRE(taken.steps[0].constants.size() == 1u);
  BOOST_TEST(taken.steps[0].constants[0].constant.scalar<float>() == 8);
  const auto& other = *p->steps[0].bodies[1];
  BOOST_TEST(other.steps.empty());
  BOOST_TEST_REQUIRE(other.direct.size() == 1u);
  BOOST_TEST(other.direct[0].constant.scalar<float>() == 4);
}

BOOST_AUTO_TEST_CASE(a_kernel_is_prepared_once_for_plans_that_ask_the_same_of_it) {
  auto b = builder();
  const auto x = b.placeholder<float>("x", {4, 4});
  const auto y = b.matmul(x, x, "y");
  b.output("y", y);
  b.output("z", b.relu(y, "z"));
  const auto g = b.build();
  const value_type square{element_type::float32, shape{4, 4}};
  const auto one = make(g, {{"x", square}}, {"y"});
  const auto two = make(g, {{"x", square}}, {"y", "z"});
  BOOST_TEST((one->steps[0].kernel && one->steps[0].kernel == two->steps[0].kernel));
}

BOOST_AUTO_TEST_CASE(kernels_live_as_long_as_a_plan_that_uses_them) {
  auto b = builder();
  const auto x = b.placeholder<float>("x", {dim{}, 4});
  b.output("y", b.relu(b.matmul(x, b.constant("w", tensor::make(element_type::float32, {4, 4})), "product")));
  const auto g = b.build();
  const value_type rows{element_type::float32, shape{2, 4}};
  const auto kept = make(g, {{"x", rows}}, {"product"});
  const auto packed = kernels.packed_bytes();
  BOOST_TEST(kernels.size() == 1u);
  BOOST_TEST(packed > 0u);
  auto more = make(g, {{"x", rows}}, {g->at_edge(g->outputs()[0]).name});
  BOOST_TEST(kernels.size() == 2u);
  more.reset();
  BOOST_TEST(kernels.size() == 1u);
  BOOST_TEST(kernels.packed_bytes() == packed);
}

BOOST_AUTO_TEST_CASE(what_follows_from_the_constants_of_a_body_is_computed_once) {
  auto branch = [&](float addend) {
    auto g = builder();
    const auto t = g.placeholder("t", scalar);
    const auto k = g.constant("k", tensor::of_scalar(addend));
    g.output("out", g.add(t, g.add(k, k, "doubled"), "sum"));
    return g.build();
  };
  auto b = builder();
  const auto which = b.placeholder("which", {element_type::boolean, shape{}});
  const auto x = b.placeholder("x", scalar);
  b.output("y", b.op("If", {which, x}, {{"then_branch", branch(1)}, {"else_branch", branch(2)}},
                     graph_builder::op_options{.name = "if", .captures = 1}));
  const auto g = b.build();
  const auto constant_of = [&](const plan& p, std::size_t body) {
    return p.steps.at(0).bodies.at(body)->steps.at(0).constants.at(0).constant;
  };
  const std::vector<std::pair<std::string, value_type>> fed{{"which", {element_type::boolean, shape{}}},
                                                            {"x", scalar}};
  const auto name = g->at_edge(g->outputs()[0]).name;
  const auto one = make(g, fed, {name}), two = make(g, fed, {name});
  BOOST_TEST(constant_of(*one, 0).scalar<float>() == 2);
  BOOST_TEST(constant_of(*one, 1).scalar<float>() == 4);
  BOOST_TEST(constant_of(*one, 0).body() == constant_of(*two, 0).body());
}

BOOST_AUTO_TEST_CASE(a_feed_that_contradicts_the_graph_is_refused) {
  const auto g = forked(builder());
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(make(g, {{"x", {element_type::int64, shape{}}}}, {"c"})), error,
      [](const error& e) { return std::string{e.what()}.find("'x' takes") != std::string::npos; });
}

BOOST_AUTO_TEST_SUITE_END()
