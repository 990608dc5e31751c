#include <sluice/sluice.hpp>

#include <tests/support/elements.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <thread>

using namespace sluice;
using sluice::test::counting;

namespace {

const value_type scalar{element_type::float32, shape{}};

/// Nothing is known of what comes out, so that what follows is prepared when it fires.
edge_ref hidden(graph_builder& g, const std::string& name, edge_ref x) {
  return g.function(name, {x}, {value_type{}},
                    {[](std::span<value> in, std::span<value> out) { out[0] = std::move(in[0]); }})[0];
}

value integers(std::initializer_list<std::int64_t> elements) {
  return tensor::of<std::int64_t>({static_cast<std::int64_t>(elements.size())}, elements);
}

} // namespace

BOOST_AUTO_TEST_SUITE(late_shapes_test)

BOOST_AUTO_TEST_CASE(frames_of_different_shapes_fire_a_node_at_once) {
  engine e;
  auto g = e.builder();
  const auto x = hidden(g, "hide", g.placeholder<float>("x", {dim{}, dim{}}));
  g.output("y", g.matmul(x, hidden(g, "hide_w", g.placeholder<float>("w", {dim{}, dim{}}))));
  auto s = e.load(g.build());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (std::int64_t t = 0; t < 3; ++t)
    callers.emplace_back([&, t] {
      for (std::int64_t i = 0; i < 100; ++i) {
        const auto rows = 1 + (i + t) % 2, inner = 1 + (i / 2 + t) % 11; // more than a node remembers
        auto ones = tensor::make(element_type::float32, {inner, 1});
        for (auto& one : ones->data<float>())
          one = 1;
        const auto y = s.run({{"x", counting({rows, inner})}, {"w", value{std::move(ones)}}})["y"];
        const auto last = y.tensor().data<float>().back();
        const auto n = static_cast<float>(rows * inner), before = static_cast<float>((rows - 1) * inner);
        wrong +=
            y.tensor().shape() == shape{rows, 1} && last == (n * (n - 1) - before * (before - 1)) / 2 ? 0 : 1;
      }
    });
  for (auto& c : callers)
    c.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(a_shape_computed_from_values_is_followed_from_frame_to_frame) {
  engine e;
  auto g = e.builder();
  const auto x = hidden(g, "hide", g.placeholder<float>("x", {2, 3}));
  const auto target = hidden(g, "hide_target", g.placeholder<std::int64_t>("target", {2}));
  g.output("y", g.op("Reshape", {x, target}));
  auto s = e.load(g.build());
  const auto run = [&](std::int64_t a, std::int64_t b) {
    return s.run({{"x", counting({2, 3})}, {"target", integers({a, b})}})["y"];
  };
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST((run(3, 2).tensor().shape() == shape{3, 2}));
    BOOST_TEST((run(1, -1).tensor().shape() == shape{1, 6}));
    BOOST_TEST((run(6, 1).tensor().shape() == shape{6, 1}));
    BOOST_CHECK_THROW(static_cast<void>(run(4, 2)), error);
  }
}

BOOST_AUTO_TEST_CASE(a_bodys_nodes_follow_shapes_that_change_with_each_iteration) {
  engine e;
  auto body = e.builder();
  {
    static_cast<void>(body.placeholder("i", {element_type::int64, shape{}}));
    const auto go_on = body.placeholder("go_on", {element_type::boolean, shape{}});
    const auto grown = hidden(body, "hide", body.placeholder<float>("x", {dim{}}));
    body.output("go_on_out", go_on);
    body.output("x_out", body.op("Concat", {grown, grown}, {{"axis", std::int64_t{0}}}));
  }
  auto g = e.builder();
  const auto trips = g.placeholder("trips", {element_type::int64, shape{}});
  const auto x = g.placeholder<float>("x", {dim{}});
  g.output("y",
           g.op_outputs("Loop", {trips, edge_ref{}, x}, {{"body", body.build()}}, {.outputs = {"grown"}})[0]);
  auto s = e.load(g.build());
  for (const std::int64_t n : {12, 0, 3, 12}) {
    const auto y = s.run({{"trips", n}, {"x", counting({3})}})["y"];
    BOOST_TEST_REQUIRE(y.tensor().elements() == 3 << n);
    BOOST_TEST(y.tensor().data<float>().back() == 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()
