#include <sluice/graph/graph.hpp>

namespace sluice {

node_index graph::find_node(std::string_view name) const {
  const auto entry = node_names_.find(name);
  return entry == node_names_.end() ? no_node : entry->second;
}

edge_index graph::find_edge(std::string_view name) const {
  const auto entry = edge_names_.find(name);
  return entry == edge_names_.end() ? no_edge : entry->second;
}

std::string title(const graph::node& n) {
  return (n.domain.empty() ? n.op : n.domain + "::" + n.op) + " '" + n.name + '\'';
}

std::vector<value_type> infer_outputs(const graph::node& n, std::span<const value_type* const> inputs,
                                      std::span<const value> constants) try {
  auto types =
      n.schema->infer(op_view{n.attributes, n.opset, inputs, constants, n.outputs.size(), n.captures});
  if (types.size() < n.outputs.size())
    types.resize(n.outputs.size());
  return types;
} catch (const error& e) {
  std::string given;
  for (const auto* input : inputs)
    given += (given.empty() ? "" : ", ") + (input ? to_string(*input) : "nothing");
  const auto code = e.code() == errc::unsupported ? errc::unsupported : errc::invalid_graph;
  throw error{code, "node " + title(n) + ": " + e.what() + " (inputs: " + given + ')'};
}

std::vector<value_type> infer_types(const graph& g, std::span<const value_type> inputs,
                                    std::span<const value> known) {
  std::vector<value_type> types;
  std::vector<value> constants;
  for (const auto& e : g.edges()) {
    types.push_back(e.type);
    constants.push_back(e.constant);
  }
  for (std::size_t i = 0; i < g.inputs().size() && i < inputs.size(); ++i) {
    auto merged = types[g.inputs()[i]].merged(inputs[i]);
    if (!merged)
      throw error{errc::invalid_graph, "input '" + g.at_edge(g.inputs()[i]).name + "' is " +
                                           to_string(types[g.inputs()[i]]) + ", not " + to_string(inputs[i])};
    types[g.inputs()[i]] = std::move(*merged);
    if (i < known.size())
      constants[g.inputs()[i]] = known[i];
  }
  for (const auto& n : g.nodes()) {
    if (n.function)
      continue;
    std::vector<const value_type*> node_inputs;
    std::vector<value> node_constants;
    for (const auto e : n.inputs) {
      node_inputs.push_back(e == no_edge ? nullptr : &types[e]);
      node_constants.push_back(e == no_edge ? value{} : constants[e]);
    }
    auto outputs = infer_outputs(n, node_inputs, node_constants);
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (auto merged = types[n.outputs[i]].merged(outputs[i]))
        types[n.outputs[i]] = std::move(*merged);
  }
  return types;
}

} // namespace sluice
