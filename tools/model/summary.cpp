#include <tools/model/summary.hpp>

#include <sluice/graph/tensor.hpp>

#include <algorithm>
#include <memory>

namespace sluice::tools {

namespace {

std::string full_name(const graph::node& n) {
  return n.domain.empty() ? n.op : n.domain + "::" + n.op;
}

/// The types of all edges where the inputs have the given ones; the declared ones if that is impossible.
std::vector<value_type> edge_types(const graph& g, std::span<const value_type> inputs, std::string& note) {
  try {
    return infer_types(g, inputs);
  } catch (const error& e) {
    note = e.what();
  }
  std::vector<value_type> declared;
  for (const auto& e : g.edges())
    declared.push_back(e.type);
  return declared;
}

/// One operation an output element, everything read and written once: what a schema without a cost means.
op_cost default_cost(const graph::node& n, const std::vector<value_type>& types) {
  op_cost cost;
  for (const auto e : n.inputs)
    if (e != no_edge)
      cost.bytes += static_cast<double>(types[e].bytes().value_or(0));
  for (const auto e : n.outputs) {
    cost.bytes += static_cast<double>(types[e].bytes().value_or(0));
    cost.flops += static_cast<double>(types[e].shape().to_shape().value_or(shape{0}).elements());
  }
  return cost;
}

std::optional<op_cost> cost_of(const graph& g, const graph::node& n, const std::vector<value_type>& types) {
  const auto concrete = [&](edge_index e) { return e == no_edge || types[e].concrete(); };
  if (!n.schema || !n.schema->bodies.empty() || !std::all_of(n.inputs.begin(), n.inputs.end(), concrete) ||
      !std::all_of(n.outputs.begin(), n.outputs.end(), concrete))
    return {};
  if (!n.schema->cost)
    return default_cost(n, types);
  std::vector<const value_type*> inputs;
  std::vector<value> constants;
  for (const auto e : n.inputs) {
    inputs.push_back(e == no_edge ? nullptr : &types[e]);
    constants.push_back(e == no_edge ? value{} : g.at_edge(e).constant);
  }
  std::vector<value_type> outputs;
  for (const auto e : n.outputs)
    outputs.push_back(types[e]);
  try {
    return n.schema->cost(op_view{n.attributes, n.opset, inputs, constants, outputs.size()}, outputs);
  } catch (const error&) {
    return {}; // an estimate is all that is lost
  }
}

class summarizer {
public:
  explicit summarizer(model_summary& s) : summary_(s) {}

  /// Adds a graph or a body; only the nodes of the graph itself are listed.
  void add(const graph& g, std::span<const value_type> inputs, bool listed) {
    add_weights(g);
    const auto types = edge_types(g, inputs, summary_.note);
    for (const auto& n : g.nodes()) {
      const auto cost = cost_of(g, n, types);
      add_cost(n, cost);
      if (listed)
        list(g, n, types, cost);
      for (const auto& [name, a] : n.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<const graph>>(&a))
          add(**body, body_inputs(**body, n, types), false);
    }
  }

private:
  void add_weights(const graph& g) {
    for (const auto& e : g.edges()) {
      if (!e.constant.is(value_kind::tensor))
        continue;
      ++summary_.weights;
      summary_.weight_bytes += e.constant.tensor().bytes();
      summary_.parameters += static_cast<std::size_t>(e.constant.tensor().elements());
    }
  }

  void add_cost(const graph::node& n, const std::optional<op_cost>& cost) {
    auto& total = summary_.operators[full_name(n)];
    ++total.count;
    if (!cost) {
      // A node with bodies costs what its bodies do.
      summary_.without_cost += !n.schema || n.schema->bodies.empty() ? 1 : 0;
      ++total.without_cost;
      return;
    }
    total.flops += cost->flops;
    total.bytes += cost->bytes;
    summary_.cost.flops += cost->flops;
    summary_.cost.bytes += cost->bytes;
  }

  void list(const graph& g, const graph::node& n, const std::vector<value_type>& types,
            const std::optional<op_cost>& cost) {
    node_summary node{.name = n.name, .op = full_name(n), .outputs = {}, .cost = cost};
    for (const auto e : n.outputs)
      if (e != no_edge)
        node.outputs.emplace_back(g.at_edge(e).name, types[e]);
    summary_.nodes.push_back(std::move(node));
  }

  /// What is known of a body's inputs: its own come first, then what it captures, the owner's last inputs.
  static std::vector<value_type> body_inputs(const graph& body, const graph::node& owner,
                                             const std::vector<value_type>& types) {
    std::vector<value_type> inputs;
    for (const auto e : body.inputs())
      inputs.push_back(body.at_edge(e).type);
    for (std::size_t i = 0; i < std::min(owner.captures, inputs.size()); ++i)
      if (const auto e = owner.inputs[owner.inputs.size() - 1 - i]; e != no_edge)
        inputs[inputs.size() - 1 - i] = types[e];
    return inputs;
  }

  model_summary& summary_;
};

} // namespace

model_summary summarize(const graph& g, const dim_values& dims) {
  std::vector<value_type> inputs;
  for (const auto i : g.inputs()) {
    const auto& t = g.at_edge(i).type;
    const auto s = t.is_tensor() ? default_shape(t.shape(), dims) : std::nullopt;
    inputs.push_back(s ? value_type{t.element(), *s} : t);
  }
  model_summary s;
  summarizer{s}.add(g, inputs, true);
  return s;
}

} // namespace sluice::tools
