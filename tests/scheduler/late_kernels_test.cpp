#include <sluice/devices/kernel_context.hpp>
#include <sluice/graph/graph_builder.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/late_kernels.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <thread>

using namespace sluice;

namespace {

const value_type any_floats{element_type::float32, partial_shape{}};

value integers(std::initializer_list<std::int64_t> elements) {
  return tensor::of<std::int64_t>({static_cast<std::int64_t>(elements.size())}, elements);
}

/// An operator whose kernel is prepared for shapes: passes input 0 on.
std::shared_ptr<const operator_library> shaped_operator() {
  auto made = std::make_shared<operator_library>();
  made->add({.name = "Shaped",
             .min_inputs = 2,
             .max_inputs = 2,
             .infer =
                 [](const op_view& op) {
                   if (op.shape(0).has_rank() && op.shape(0)[0].extent() == 0)
                     throw error{errc::invalid_graph, "it takes no empty tensors"};
                   return std::vector{op.input(0)};
                 }},
            {[](const kernel_request&) {
               return make_kernel([](kernel_context& ctx) { ctx.set_output(0, ctx.take_input(0)); });
             },
             false});
  return made;
}

value floats(std::int64_t rows, std::int64_t columns) {
  return tensor::make(element_type::float32, {rows, columns});
}

std::string type_of(const std::shared_ptr<const late_kernel>& made) {
  return to_string(made->outputs[0]);
}

struct fixture {
  explicit fixture(std::shared_ptr<const operator_library> o = standard_operators())
    : operators(std::move(o)) {}

  /// One node whose inputs are all fed.
  std::shared_ptr<const graph> one_node(const std::string& op, const std::vector<value_type>& types) const {
    graph_builder g{operators->schemas()};
    std::vector<edge_ref> inputs;
    for (const auto& t : types)
      inputs.push_back(g.placeholder("in" + std::to_string(inputs.size()), t));
    g.output("out", g.op(op, inputs, {}, "node"));
    return g.build();
  }

  std::shared_ptr<const late_kernel> get(const graph& g, const std::vector<value>& inputs,
                                         const std::vector<plan_step::bound_constant>& constants = {}) {
    return late.get(g.at(0), inputs, constants, kernels, 1);
  }

  std::shared_ptr<const operator_library> operators;
  kernel_cache kernels{operators};
  late_kernels late;
};

struct shaped_fixture : fixture {
  shaped_fixture() : fixture(shaped_operator()) {}
  std::shared_ptr<const graph> g = one_node("Shaped", {any_floats, any_floats});
};

} // namespace

BOOST_AUTO_TEST_SUITE(late_kernels_test)

BOOST_FIXTURE_TEST_CASE(shapes_that_alternate_are_prepared_once_each, shaped_fixture) {
  const auto w = floats(3, 3);
  const auto small = get(*g, {floats(4, 4), w});
  const auto large = get(*g, {floats(6, 9), w});
  BOOST_TEST(type_of(small) == "float32[4, 4]");
  BOOST_TEST(type_of(large) == "float32[6, 9]");
  BOOST_TEST(small->kernel != large->kernel);
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(get(*g, {floats(4, 4), w}) == small);
    BOOST_TEST(get(*g, {floats(6, 9), w}) == large);
  }
  BOOST_TEST(late.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(only_the_combinations_used_last_are_remembered, shaped_fixture) {
  const auto w = floats(3, 3);
  const auto first = get(*g, {floats(3, 3), w});
  for (std::int64_t width = 4; width < 100; ++width) {
    static_cast<void>(get(*g, {floats(3, width), w}));
    BOOST_TEST(get(*g, {floats(3, 3), w}) == first); // used all the time
  }
  BOOST_TEST(late.size() == late_kernels::capacity);
  BOOST_TEST(kernels.size() == late_kernels::capacity);
}

BOOST_FIXTURE_TEST_CASE(a_kernel_that_was_prepared_for_a_constant_serves_no_other, shaped_fixture) {
  const auto x = floats(4, 4);
  const auto ones = floats(3, 3), others = floats(3, 3);
  const auto with_ones = get(*g, {x, ones}, {{1, ones}});
  const auto with_others = get(*g, {x, others}, {{1, others}});
  const auto with_any = get(*g, {x, ones});
  BOOST_TEST(with_ones->kernel != with_others->kernel);
  BOOST_TEST(with_ones->kernel != with_any->kernel);
  BOOST_TEST(get(*g, {x, ones}, {{1, ones}}) == with_ones);
  BOOST_TEST(get(*g, {x, others}) == with_any);
}

BOOST_FIXTURE_TEST_CASE(a_shape_that_depends_on_elements_is_inferred_at_each_firing, fixture) {
  const auto g = one_node("Reshape", {any_floats, value_type{element_type::int64, shape{2}}});
  const auto x = tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto tall = get(*g, {x, integers({3, 2})});
  const auto flat = get(*g, {x, integers({1, 6})});
  BOOST_TEST(type_of(tall) == "float32[3, 2]");
  BOOST_TEST(type_of(flat) == "float32[1, 6]");
  BOOST_TEST(tall->kernel == flat->kernel);
  BOOST_TEST(late.size() == 1u);
  // Where the shape is a constant, each constant has an entry of its own.
  const auto target = integers({6, 1}), other = integers({2, 3});
  BOOST_TEST(type_of(get(*g, {x, target}, {{1, target}})) == "float32[6, 1]");
  BOOST_TEST(type_of(get(*g, {x, other}, {{1, other}})) == "float32[2, 3]");
  BOOST_TEST(type_of(get(*g, {x, target}, {{1, target}})) == "float32[6, 1]");
}

BOOST_FIXTURE_TEST_CASE(types_and_inputs_that_are_left_out_tell_combinations_apart, fixture) {
  graph_builder b{operators->schemas()};
  const auto x = b.placeholder("x", {});
  const auto low = b.placeholder("low", {});
  b.output("y", b.op("Clip", {x, low}, {}, "node"));
  const auto g = b.build();
  const auto floats = get(*g, {tensor::of_scalar(1.f), tensor::of_scalar(0.f)});
  const auto doubles = get(*g, {tensor::of_scalar(1.), tensor::of_scalar(0.)});
  BOOST_TEST(type_of(floats) == "float32[]");
  BOOST_TEST(type_of(doubles) == "float64[]");
  const auto open = get(*g, {tensor::of_scalar(1.f), value{}});
  BOOST_TEST(open != floats);
  BOOST_TEST(get(*g, {tensor::of_scalar(1.f), value{}}) == open);
}

BOOST_FIXTURE_TEST_CASE(a_failure_is_not_remembered, shaped_fixture) {
  const auto w = floats(3, 3);
  for (int i = 0; i < 2; ++i)
    BOOST_CHECK_THROW(static_cast<void>(get(*g, {floats(0, 2), w})), error);
  BOOST_TEST(late.size() == 0u);
  BOOST_TEST(type_of(get(*g, {floats(3, 3), w})) == "float32[3, 3]");
}

BOOST_FIXTURE_TEST_CASE(frames_fire_a_node_at_once_with_different_shapes, shaped_fixture) {
  const auto w = floats(1, 1);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0; i < 200; ++i) {
        const auto width = 1 + (t + i) % 12; // more than are remembered
        wrong +=
            type_of(get(*g, {floats(2, width), w}, {{1, w}})) == "float32[2, " + std::to_string(width) + ']'
                ? 0
                : 1;
      }
    });
  for (auto& t : threads)
    t.join();
  BOOST_TEST(wrong == 0);
  BOOST_TEST(late.size() <= late_kernels::capacity);
}

BOOST_AUTO_TEST_SUITE_END()
