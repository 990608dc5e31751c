#include "placed_graphs.hpp"

#include <cstring>
#include <thread>

namespace sluice::test {

namespace {

const partial_shape input_shape{4, 6};

value matrix(const shape& s, float first) {
  auto t = tensor::make(element_type::float32, s);
  auto x = first;
  for (auto& element : t->data<float>()) {
    element = x;
    x = x > 1 ? x - 1.75f : x + 0.3125f;
  }
  return t;
}

value integers(std::vector<std::int64_t> v) {
  return tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}

/// A chain that works in place, with a weight, and back to the host.
placed_graph chain(const engine& e, const std::string& first) {
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", input_shape);
  const auto w = g.constant("w", matrix({6, 6}, 0.5f));
  edge_ref y;
  {
    const auto on = g.on(first);
    y = g.relu(g.matmul(x, w, "product"), "relu");
    y = g.op("Sigmoid", {g.op("Neg", {y}, {}, "neg")}, {}, "sigmoid");
  }
  g.output("y", g.add(y, y, "sum"));
  return {"chain", g.build("chain"), {"y"}};
}

/// A fork whose branches run on two devices and the host; one value is read everywhere.
placed_graph fork(const engine& e, const std::string& first, const std::string& second) {
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", input_shape);
  edge_ref root, left, right;
  {
    const auto on = g.on(first);
    root = g.op("Tanh", {x}, {}, "root");
    left = g.op("Exp", {root}, {}, "left");
  }
  {
    const auto on = g.on(second);
    right = g.op("Abs", {root}, {}, "right");
    right = g.add(right, x, "right_sum");
  }
  const auto mid = g.op("Neg", {root}, {}, "mid");
  edge_ref joined;
  {
    const auto on = g.on(second);
    joined = g.add(left, right, "joined");
  }
  g.output("y", g.add(joined, mid, "y"));
  g.output("left", left);
  return {"fork", g.build("fork"), {"y", "left", "right", "x", "root"}};
}

/// Views between kernels, of a value that is read as it is too.
placed_graph views(const engine& e, const std::string& first, const std::string& second) {
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", input_shape);
  const auto flat = g.constant("flat", integers({24}));
  edge_ref y, a;
  {
    const auto on = g.on(first);
    a = g.op("Exp", {x}, {}, "a");
    auto v = g.op("Reshape", {a, flat}, {}, "flat_a");
    v = g.op("Identity", {v}, {}, "same");
    v = g.op("Neg", {v}, {}, "negated");
    v = g.op("Reshape", {v, g.constant("square", integers({4, 6}))}, {}, "square_v");
    y = g.add(v, a, "y1");
  }
  {
    const auto on = g.on(second);
    y = g.op("Transpose", {y}, {{"perm", std::vector<std::int64_t>{1, 0}}}, "turned");
    y = g.op("Unsqueeze", {y, g.constant("axes", integers({0}))}, {}, "wider");
  }
  g.output("y", y);
  g.output("copy_of_a", g.op("Identity", {a}, {}, "copy"));
  return {"views", g.build("views"), {"y", "copy_of_a", "a"}};
}

/// Branches on one device that run beside each other, out of place: their values may not share bytes.
placed_graph wide(const engine& e, const std::string& first) {
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", input_shape);
  const auto on = g.on(first);
  const auto turned = [&](edge_ref from, const std::string& name) {
    return g.op("Transpose", {from}, {{"perm", std::vector<std::int64_t>{1, 0}}}, name);
  };
  edge_ref sum = g.op("Exp", {x}, {}, "root");
  const auto root = sum;
  for (const auto* name : {"a", "b", "c", "d"}) {
    const std::string branch = name;
    const auto there = turned(g.op(branch < "c" ? "Neg" : "Abs", {root}, {}, branch), branch + "1");
    sum = g.add(sum, turned(g.op("Sin", {there}, {}, branch + "2"), branch + "3"), branch + "4");
  }
  g.output("y", sum);
  return {"wide", g.build("wide"), {"y"}};
}

/// What an accelerator does not execute stands between what it does: a function, and what depends on data.
placed_graph mixed(const engine& e, const std::string& first) {
  auto g = e.builder();
  const auto x = g.placeholder<float>("x", input_shape);
  const auto on = g.on(first);
  auto y = g.op("Exp", {x}, {}, "before");
  y = g.function("twice", {y}, {value_type{element_type::float32, input_shape}},
                 {[](std::span<value> in, std::span<value> out) {
                   const auto from = in[0].tensor().data<float>();
                   auto t = tensor::make(element_type::float32, in[0].tensor().shape());
                   for (std::size_t i = 0; i < from.size(); ++i)
                     t->data<float>()[i] = 2 * from[i];
                   out[0] = std::move(t);
                 }})[0];
  y = g.op("Neg", {y}, {}, "after");
  g.output("y", y);
  g.output("where", g.op("NonZero", {g.relu(y, "zero")}, {}, "nonzero"));
  return {"mixed", g.build("mixed"), {"y", "where"}};
}

} // namespace

std::vector<placed_graph> placed_graphs(const engine& e, const std::string& first,
                                        const std::string& second) {
  return {chain(e, first), fork(e, first, second), views(e, first, second), mixed(e, first), wide(e, first)};
}

value small_matrix(unsigned seed) {
  return matrix({4, 6}, 0.125f * static_cast<float>(seed % 17) - 1);
}

void wait_until_gone(const std::weak_ptr<session_core>& core) {
  while (!core.expired())
    std::this_thread::yield();
}

bool same_bits(const value& a, const value& b) {
  const auto& x = a.tensor();
  const auto& y = b.tensor();
  return x.type() == y.type() && x.shape() == y.shape() && std::memcmp(x.raw(), y.raw(), x.bytes()) == 0;
}

} // namespace sluice::test
