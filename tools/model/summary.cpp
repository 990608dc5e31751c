#include <tools/model/summary.hpp>

#include <sluice/graph/tensor.hpp>

#include <algorithm>
#include <memory>

namespace sluice::tools {

namespace {

std::string full_name(const graph::node& n) {
  return n.domain.empty() ? n.op : n.domain + "::" + n.op;
}

bool has_body(const graph::node& n) {
  return std::any_of(n.attributes.begin(), n.attributes.end(), [](const auto& entry) {
    return std::holds_alternative<std::shared_ptr<const graph>>(entry.second);
  });
}

/// The types of all edges with the inputs' open extents filled in; the declared ones if that is impossible.
std::vector<value_type> edge_types(const graph& g, const dim_values& dims, std::string& note) {
  std::vector<value_type> inputs;
  for (const auto i : g.inputs()) {
    const auto& t = g.at_edge(i).type;
    const auto s = t.is_tensor() ? default_shape(t.shape(), dims) : std::nullopt;
    inputs.push_back(s ? value_type{t.element(), *s} : t);
  }
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
  if (!n.schema || has_body(n) || !std::all_of(n.inputs.begin(), n.inputs.end(), concrete) ||
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

void add_weights(const graph& g, model_summary& s) {
  for (const auto& e : g.edges()) {
    if (!e.constant.is(value_kind::tensor))
      continue;
    ++s.weights;
    s.weight_bytes += e.constant.tensor().bytes();
    s.parameters += static_cast<std::size_t>(e.constant.tensor().elements());
  }
}

/// Bodies count with their operators and weights; how often they run is not known.
void add_bodies(const graph& g, model_summary& s) {
  for (const auto& n : g.nodes())
    for (const auto& [name, a] : n.attributes)
      if (const auto* body = std::get_if<std::shared_ptr<const graph>>(&a)) {
        for (const auto& inner : (*body)->nodes()) {
          ++s.operators[full_name(inner)].count;
          ++s.without_cost;
        }
        add_weights(**body, s);
        add_bodies(**body, s);
      }
}

} // namespace

model_summary summarize(const graph& g, const dim_values& dims) {
  model_summary s;
  const auto types = edge_types(g, dims, s.note);
  for (const auto& n : g.nodes()) {
    node_summary node{.name = n.name, .op = full_name(n), .outputs = {}, .cost = cost_of(g, n, types)};
    for (const auto e : n.outputs)
      node.outputs.push_back(types[e]);
    auto& total = s.operators[node.op];
    ++total.count;
    if (node.cost) {
      total.flops += node.cost->flops;
      total.bytes += node.cost->bytes;
      s.cost.flops += node.cost->flops;
      s.cost.bytes += node.cost->bytes;
    } else {
      ++s.without_cost;
    }
    s.nodes.push_back(std::move(node));
  }
  add_weights(g, s);
  add_bodies(g, s);
  return s;
}

} // namespace sluice::tools
