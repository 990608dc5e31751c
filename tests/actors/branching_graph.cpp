#include "branching_graph.hpp"

namespace sluice::test {

namespace {

template <class F>
graph_function hooked(const std::shared_ptr<node_hook>& hook, std::string name, F f,
                      function_kind kind = function_kind::pure) {
  return {[hook, name = std::move(name), f](std::span<value> in, std::span<value> out) mutable {
            if (*hook)
              (*hook)(name);
            out[0] = f(in);
          },
          kind};
}

float scaled(float x) {
  return x * 2;
}

} // namespace

branching_graph::branching_graph(const engine& e, std::shared_ptr<node_hook> hook) {
  const auto step = [&hook](graph_builder& g, const std::string& name, const std::string& full,
                            std::vector<edge_ref> inputs, auto f, function_kind kind = function_kind::pure) {
    return g.function(name, std::move(inputs), {scalar},
                      hooked(
                          hook, full, [f](std::span<value> in) mutable { return number(f(in)); }, kind))[0];
  };

  auto then_branch = e.builder();
  {
    const auto sum = then_branch.placeholder("sum", scalar);
    const auto mid = then_branch.placeholder("mid", scalar);
    then_branch.output("out", step(then_branch, "grow", "if/grow", {sum, mid},
                                   [](std::span<value> in) { return number(in[0]) * 10 + number(in[1]); }));
  }
  auto else_branch = e.builder();
  {
    const auto sum = else_branch.placeholder("sum", scalar);
    const auto mid = else_branch.placeholder("mid", scalar);
    else_branch.output("out", step(else_branch, "shrink", "if/shrink", {sum, mid},
                                   [](std::span<value> in) { return number(in[0]) - number(in[1]); }));
  }
  auto body = e.builder();
  {
    static_cast<void>(body.placeholder("i", {element_type::int64, shape{}}));
    const auto go_on = body.placeholder("go_on", {element_type::boolean, shape{}});
    const auto sum = body.placeholder("sum", scalar);
    const auto right = body.placeholder("right", scalar);
    const auto one =
        step(body, "one", "loop/one", {sum}, [](std::span<value> in) { return number(in[0]) + 1; });
    const auto two =
        step(body, "two", "loop/two", {right}, [](std::span<value> in) { return number(in[0]) * 3; });
    body.output("go_on_out", go_on);
    body.output("sum_out", step(body, "both", "loop/both", {one, two},
                                [](std::span<value> in) { return number(in[0]) + number(in[1]); }));
  }

  auto g = e.builder();
  const auto x = g.placeholder("x", scalar);
  const auto root = step(g, "root", "root", {x}, [](std::span<value> in) { return number(in[0]) + 1; });
  const auto left =
      step(g, "left", "left", {root}, [](std::span<value> in) { return scaled(number(in[0])); });
  const auto right = step(g, "right", "right", {root}, [](std::span<value> in) { return number(in[0]) + 3; });
  const auto mid = step(g, "mid", "mid", {root}, [](std::span<value> in) { return number(in[0]) + 5; });
  const auto count = step(
      g, "count", "count", {left},
      [total = 0.f](std::span<value> in) mutable { return total += number(in[0]); }, function_kind::stateful);
  const auto positive = g.function("positive", {root}, {{element_type::boolean, shape{}}},
                                   hooked(hook, "positive", [](std::span<value> in) {
                                     return value{tensor::of_scalar(number(in[0]) > 0)};
                                   }))[0];
  const auto sum = g.add(left, right, "sum");
  const auto chosen =
      g.op_outputs("If", {positive, sum, mid},
                   {{"then_branch", then_branch.build()}, {"else_branch", else_branch.build()}},
                   {.name = "if", .outputs = {"chosen"}, .captures = 2})[0];
  const auto trips = g.constant("trips", tensor::of_scalar<std::int64_t>(3));
  const auto looped = g.op_outputs("Loop", {trips, edge_ref{}, chosen, right}, {{"body", body.build()}},
                                   {.name = "loop", .outputs = {"looped"}, .captures = 1})[0];
  g.output("y", step(g, "join", "join", {count, looped, mid},
                     [](std::span<value> in) { return number(in[0]) + number(in[1]) + number(in[2]); }));
  g.output("total", count);
  model = g.build("branching");
}

float branching_graph::counted(float x) {
  return scaled(x + 1);
}

float branching_graph::expected(float x, float before) {
  const auto root = x + 1;
  const auto left = scaled(root);
  const auto right = root + 3;
  const auto mid = root + 5;
  const auto sum = left + right;
  auto looped = root > 0 ? sum * 10 + mid : sum - mid;
  for (int i = 0; i < 3; ++i)
    looped += 1 + right * 3;
  return before + left + looped + mid;
}

const std::vector<std::string>& branching_graph::nodes() {
  static const std::vector<std::string> all = {"root",     "left",      "right",   "mid",
                                               "count",    "positive",  "if/grow", "loop/one",
                                               "loop/two", "loop/both", "join"};
  return all;
}

node_index branching_graph::place_of(const std::string& node) const {
  return model->find_node(node.substr(0, node.find('/')));
}

} // namespace sluice::test
