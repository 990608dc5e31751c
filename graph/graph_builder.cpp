#include <sluice/graph/graph_builder.hpp>

#include <algorithm>
#include <mutex>

namespace sluice {

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw error{errc::invalid_graph, why};
}

std::string arity(std::size_t least, std::size_t most) {
  if (most == op_schema::variadic)
    return "at least " + std::to_string(least);
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

void check_arity(const graph::node& n, const char* what, std::size_t count, std::size_t least,
                 std::size_t most) {
  if (count < least || count > most)
    refuse("node " + title(n) + " has " + std::to_string(count) + ' ' + what + "; it takes " +
           arity(least, most));
}

/// A function with state that is called once at a time, whatever the number of sessions of its graph.
graph_function one_at_a_time(graph_function f) {
  auto calls = std::make_shared<std::mutex>();
  f.call = [calls = std::move(calls), call = std::move(f.call)](std::span<value> in, std::span<value> out) {
    const std::lock_guard lock{*calls};
    call(in, out);
  };
  return f;
}

} // namespace

struct graph_builder::state {
  std::shared_ptr<const op_registry> operators;
  int opset;
  graph made;
  std::vector<std::string> devices;
  std::size_t anonymous = 0;

  edge_index add_edge(std::string name, value_type type, const char* what) {
    if (name.empty())
      refuse(std::string{what} + " needs a name");
    const auto index = static_cast<edge_index>(made.edges_.size());
    if (!made.edge_names_.try_emplace(name, index).second)
      refuse("two values are named '" + name + '\'');
    graph::edge e;
    e.name = std::move(name);
    e.type = std::move(type);
    made.edges_.push_back(std::move(e));
    return index;
  }

  void check_inputs(const graph::node& n) const {
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] != no_edge && n.inputs[i] >= made.edges_.size())
        refuse("node " + title(n) + ": input " + std::to_string(i) + " is no value of this graph");
  }

  std::string free_name(const std::string& stem) {
    auto name = stem + '_' + std::to_string(anonymous++);
    while (made.node_names_.contains(name) || made.edge_names_.contains(name))
      name = stem + '_' + std::to_string(anonymous++);
    return name;
  }

  /// Adds a checked node with outputs of the given types and names.
  std::vector<edge_ref> add_node(graph::node n, std::vector<value_type> types,
                                 const std::vector<std::string>& names) {
    const auto index = static_cast<node_index>(made.nodes_.size());
    if (!made.node_names_.try_emplace(n.name, index).second)
      refuse("two nodes are named '" + n.name + '\'');
    if (!devices.empty())
      n.device = devices.back();
    std::vector<edge_ref> outputs;
    for (std::uint32_t port = 0; port < types.size(); ++port) {
      auto name = port < names.size() ? names[port] : std::string{};
      if (name.empty()) {
        name = port == 0 ? n.name : n.name + ':' + std::to_string(port);
        if (made.edge_names_.contains(name))
          name = free_name(name);
      }
      const auto e = add_edge(std::move(name), std::move(types[port]), "an output");
      made.edges_[e].producer = index;
      made.edges_[e].port = port;
      n.outputs.push_back(e);
      outputs.push_back({e});
    }
    for (const auto input : n.inputs)
      if (input != no_edge)
        made.edges_[input].consumers.push_back(index);
    made.nodes_.push_back(std::move(n));
    return outputs;
  }
};

graph_builder::graph_builder(std::shared_ptr<const op_registry> operators, int opset)
  : state_(std::make_unique<state>()) {
  state_->operators = std::move(operators);
  state_->opset = opset;
}

graph_builder::~graph_builder() = default;
graph_builder::graph_builder(graph_builder&&) noexcept = default;
graph_builder& graph_builder::operator=(graph_builder&&) noexcept = default;

edge_ref graph_builder::placeholder(std::string name, value_type type) {
  const auto e = state_->add_edge(std::move(name), std::move(type), "a placeholder");
  state_->made.inputs_.push_back(e);
  return {e};
}

edge_ref graph_builder::constant(std::string name, value v) {
  if (v.empty())
    refuse("constant '" + name + "' has no value");
  const auto e = state_->add_edge(std::move(name), value_type::of(v), "a constant");
  state_->made.edges_[e].constant = std::move(v);
  return {e};
}

std::vector<edge_ref> graph_builder::op_outputs(std::string op, std::vector<edge_ref> inputs,
                                                attribute_map attributes, op_options options) {
  graph::node n;
  n.name = options.name.empty() ? state_->free_name(op) : std::move(options.name);
  n.domain = options.domain == "ai.onnx" ? std::string{} : std::move(options.domain);
  n.op = std::move(op);
  n.opset = options.opset.value_or(n.domain.empty() ? state_->opset : 1);
  n.attributes = std::move(attributes);
  n.captures = options.captures;
  while (!inputs.empty() && inputs.back().index == no_edge)
    inputs.pop_back();
  for (const auto input : inputs)
    n.inputs.push_back(input.index);
  n.schema = state_->operators->find(n.domain, n.op, n.opset);
  if (!n.schema) {
    const auto known = state_->operators->knows(n.domain, n.op);
    refuse("node " + title(n) + ": " +
           (known ? "operator is not in opset " + std::to_string(n.opset) : std::string{"unknown operator"}));
  }
  const auto& schema = *n.schema;
  const auto outputs = options.outputs.empty() ? schema.min_outputs : options.outputs.size();
  check_arity(n, "inputs", n.inputs.size() - n.captures, schema.min_inputs, schema.max_inputs);
  check_arity(n, "outputs", outputs, schema.min_outputs, schema.max_outputs);
  state_->check_inputs(n);

  std::vector<const value_type*> types;
  std::vector<value> constants;
  for (const auto e : n.inputs) {
    types.push_back(e == no_edge ? nullptr : &state_->made.edges_[e].type);
    constants.push_back(e == no_edge ? value{} : state_->made.edges_[e].constant);
  }
  n.outputs.resize(outputs); // so that inference knows their number
  auto inferred = infer_outputs(n, types, constants);
  inferred.resize(outputs);
  n.outputs.clear();
  return state_->add_node(std::move(n), std::move(inferred), options.outputs);
}

edge_ref graph_builder::op(std::string op, std::vector<edge_ref> inputs, attribute_map attributes,
                           op_options options) {
  return op_outputs(std::move(op), std::move(inputs), std::move(attributes), std::move(options)).front();
}

edge_ref graph_builder::op(std::string op, std::vector<edge_ref> inputs, attribute_map attributes,
                           std::string name) {
  op_options options;
  options.name = std::move(name);
  return this->op(std::move(op), std::move(inputs), std::move(attributes), std::move(options));
}

std::vector<edge_ref> graph_builder::function(std::string name, std::vector<edge_ref> inputs,
                                              std::vector<value_type> outputs, graph_function f) {
  graph::node n;
  n.name = name.empty() ? state_->free_name("function") : std::move(name);
  n.op = "function";
  for (const auto input : inputs)
    n.inputs.push_back(input.index);
  if (!f.call)
    refuse("node " + title(n) + " has no function to call");
  if (outputs.empty())
    refuse("node " + title(n) + " has no outputs");
  state_->check_inputs(n);
  if (f.kind == function_kind::stateful)
    f = one_at_a_time(std::move(f));
  n.function = std::make_shared<const graph_function>(std::move(f));
  return state_->add_node(std::move(n), std::move(outputs), {});
}

void graph_builder::output(std::string name, edge_ref e) {
  auto& made = state_->made;
  if (e.index >= made.edges_.size())
    refuse("output '" + name + "' is no value of this graph");
  if (std::find(made.output_names_.begin(), made.output_names_.end(), name) != made.output_names_.end())
    refuse("two outputs are named '" + name + '\'');
  const auto [entry, fresh] = made.edge_names_.try_emplace(name, e.index);
  if (!fresh && entry->second != e.index)
    refuse("output '" + name + "' has the name of another value");
  made.outputs_.push_back(e.index);
  made.output_names_.push_back(std::move(name));
}

graph_builder::device_scope graph_builder::on(std::string device) {
  state_->devices.push_back(std::move(device));
  return device_scope{*this};
}

graph_builder::device_scope::~device_scope() {
  builder_->state_->devices.pop_back();
}

const value_type& graph_builder::type(edge_ref e) const {
  return state_->made.edges_.at(e.index).type;
}

const value& graph_builder::constant_of(edge_ref e) const {
  return state_->made.edges_.at(e.index).constant;
}

void graph_builder::refine(edge_ref e, const value_type& declared) {
  auto& edge = state_->made.edges_.at(e.index);
  auto merged = edge.type.merged(declared);
  if (!merged)
    refuse("value '" + edge.name + "' is declared " + to_string(declared) + ", but is " +
           to_string(edge.type));
  edge.type = std::move(*merged);
}

std::shared_ptr<const graph> graph_builder::build(std::string name) {
  auto& made = state_->made;
  if (made.outputs_.empty())
    refuse("graph '" + name + "' has no outputs");
  made.name_ = std::move(name);
  made.keeps_.push_back(state_->operators);
  auto result = std::make_shared<const graph>(std::move(made));
  auto fresh = std::make_unique<state>();
  fresh->operators = state_->operators;
  fresh->opset = state_->opset;
  fresh->devices = std::move(state_->devices); // of scopes that live on
  state_ = std::move(fresh);
  return result;
}

} // namespace sluice
