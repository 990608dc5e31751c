#include <sluice/graph/onnx/importer.hpp>

namespace sluice::proto {

namespace {

// Inputs, outputs and attributes that inlining may repeat, for every node that the options allow.
constexpr std::size_t work_per_node = 16;

/// True unless both say what kind of value it is, or of which elements, and disagree.
bool same_kind(const value_type& a, const value_type& b) {
  if (!a.known() || !b.known())
    return true;
  if (a.kind() != b.kind())
    return false;
  if (a.is_tensor())
    return a.element() == element_type::undefined || b.element() == element_type::undefined ||
           a.element() == b.element();
  return a.is(value_kind::object) || same_kind(a.inner(), b.inner());
}

} // namespace

void importer::spend(std::size_t work) {
  work_ += work;
  if (nodes_ > options_.max_nodes || work_ / work_per_node > options_.max_nodes)
    unsupported("it has more than " + std::to_string(options_.max_nodes) +
                " nodes, or as much in attributes, when its functions are inlined");
}

int importer::opset_of(const onnx::NodeProto& n, const scope& s) const {
  const auto known = s.opsets->find(domain_of(n.domain()));
  if (known == s.opsets->end())
    malformed("node " + title(n) + " is of domain '" + n.domain() + "', which the model does not import");
  return known->second;
}

edge_ref importer::input(const onnx::NodeProto& n, int i, const scope& s) const {
  if (n.input(i).empty())
    return {};
  const auto* e = s.find(n.input(i));
  if (!e)
    malformed("node " + title(n) + " takes '" + n.input(i) + "', which nothing produces");
  return *e;
}

std::string importer::edge_name(const std::string& written, scope& s) const {
  if (const auto caller = s.renamed.find(written); caller != s.renamed.end())
    return caller->second;
  return s.prefix.empty() ? written : s.in.values.fresh(s.prefix + written);
}

void importer::define(const std::string& written, edge_ref e, scope& s) {
  if (!s.values.try_emplace(written, e).second)
    malformed("'" + written + "' is produced twice");
  if (const auto declared = s.in.declared.find(written); s.prefix.empty() && declared != s.in.declared.end())
    refine(e, written, *declared->second, s.in);
}

void importer::refine(edge_ref e, const std::string& name, const onnx::TypeProto& declared, context& in) {
  const auto stated = type_from(declared, "value '" + name + '\'');
  const auto& known = in.builder.type(e);
  if (!same_kind(known, stated))
    malformed("value '" + name + "' is declared " + to_string(stated) + ", but is " + to_string(known));
  if (known.merged(stated))
    in.builder.refine(e, stated);
  else // exporters leave wrong shapes behind; what follows from the inputs is right
    info_.notes.push_back("value '" + name + "' is declared " + to_string(stated) + ", but is " +
                          to_string(known));
}

std::vector<importer::captured> importer::captures_of(const attribute_list& attributes, const scope& s) {
  std::vector<captured> result;
  std::unordered_set<std::string> seen;
  for (const auto& [name, a] : attributes) {
    if (!a->has_g())
      continue;
    const auto& names = scoping_.free_names(a->g());
    spend(names.size());
    for (const auto& taken : names) {
      if (!seen.insert(taken).second)
        continue;
      const auto* e = s.find(taken);
      if (!e || e->index == no_edge)
        malformed("body '" + name + "' takes '" + taken + "', which nothing produces");
      result.push_back({taken, *e, s.in.builder.type(*e), s.in.builder.constant_of(*e)});
    }
  }
  return result;
}

void importer::convert(onnx::NodeProto& n, scope& s) {
  ++nodes_;
  spend(static_cast<std::size_t>(n.input_size()) + static_cast<std::size_t>(n.output_size()));
  if (n.output_size() == 0)
    malformed("node " + title(n) + " has no outputs");
  const auto opset = opset_of(n, s);
  const auto attributes = attributes_of(n, s);
  const auto found = catalog_->resolve(n, opset);
  if (found.what == resolution::kind::constant)
    return constant(n, attributes, s);

  const auto written = s.prefix + n.name();
  const auto name = n.name().empty()            ? s.in.nodes.numbered(s.prefix + n.op_type())
                    : s.in.nodes.claim(written) ? written
                                                : s.in.nodes.numbered(written);
  if (!n.name().empty() && name != written)
    info_.notes.push_back("several nodes are named '" + written + "': one is '" + name + "' here");
  switch (found.what) {
  case resolution::kind::registered:
    return registered(n, attributes, name, opset, s);
  case resolution::kind::function:
    return call(n, attributes, name, *found.body, found.schema, s);
  case resolution::kind::definition:
    return call(n, attributes, name, definition(n, attributes, found, opset, s), true, s);
  default:
    throw unsupported_operators{"the model",
                                {{n.op_type(), domain_of(n.domain()), opset, 1, name, found.reason}}};
  }
}

void importer::registered(onnx::NodeProto& n, const attribute_list& attributes, const std::string& name,
                          int opset, scope& s) {
  std::vector<edge_ref> inputs;
  for (int i = 0; i < n.input_size(); ++i)
    inputs.push_back(input(n, i, s));

  attribute_map converted;
  graph_builder::op_options options;
  std::string current;
  try {
    const auto captures = captures_of(attributes, s);
    for (const auto& [attribute_name, a] : attributes) {
      current = attribute_name;
      converted.set(attribute_name,
                    a->has_g() ? attribute{body(*a->mutable_g(), s, captures)} : attribute_from(*a));
    }
    for (const auto& c : captures)
      if (c.constant.empty()) {
        inputs.push_back(c.outside);
        ++options.captures;
      }
  } catch (const unsupported_operators&) {
    throw;
  } catch (const error& e) {
    throw error{e.code(),
                "node " + title(n) + (current.empty() ? ": " : ", attribute '" + current + "': ") + e.what()};
  }

  options.name = name;
  options.domain = domain_of(n.domain());
  options.opset = opset;
  auto outputs = n.output_size();
  while (outputs > 1 && n.output(outputs - 1).empty())
    --outputs;
  for (int i = 0; i < outputs; ++i)
    options.outputs.push_back(n.output(i).empty() ? s.in.values.fresh(name + ':' + std::to_string(i))
                                                  : edge_name(n.output(i), s));
  const auto made =
      s.in.builder.op_outputs(n.op_type(), std::move(inputs), std::move(converted), std::move(options));
  for (int i = 0; i < outputs; ++i)
    if (!n.output(i).empty())
      define(n.output(i), made[static_cast<std::size_t>(i)], s);
}

const function_body& importer::definition(const onnx::NodeProto& n, const attribute_list& attributes,
                                          const resolution& found, int opset, const scope& s) {
  auto complete = n;
  complete.clear_attribute();
  for (const auto& [name, a] : attributes) {
    spend(a->ByteSizeLong() / 8);
    auto& copy = *complete.add_attribute();
    copy = *a;
    copy.set_name(name);
  }
  std::vector<onnx::TypeProto> types;
  for (int i = 0; i < n.input_size(); ++i) {
    const auto e = input(n, i, s);
    types.push_back(e.index == no_edge ? onnx::TypeProto{} : type_to(s.in.builder.type(e)));
  }
  const auto* body = catalog_->expand(*found.schema, complete, types, opset);
  if (!body)
    throw unsupported_operators{"the model",
                                {{n.op_type(), domain_of(n.domain()), opset, 1, n.name(),
                                  found.reason + ", and ONNX's definition does not apply to its inputs"}}};
  return *body;
}

void importer::call(onnx::NodeProto& n, const attribute_list& attributes, const std::string& name,
                    const function_body& f, bool defines_operator, scope& s) {
  auto& nodes = *f.nodes;
  const auto inputs = n.input_size();
  if (inputs > nodes.input_size() || n.output_size() > nodes.output_size())
    malformed("node " + title(n) + " gives " + std::to_string(inputs) + " inputs and takes " +
              std::to_string(n.output_size()) + " outputs; the function has " +
              std::to_string(nodes.input_size()) + " and " + std::to_string(nodes.output_size()));
  if (s.calls >= options_.max_calls)
    unsupported("node " + title(n) + " calls functions more than " + std::to_string(options_.max_calls) +
                " deep");
  if (!active_.insert(&nodes).second)
    malformed("function '" + nodes.name() + "' calls itself, at node " + title(n));
  spend(static_cast<std::size_t>(nodes.input_size()) + static_cast<std::size_t>(nodes.output_size()) +
        f.defaults.size());

  scope inner{s.in, &f.opsets};
  inner.calls = s.calls + 1;
  inner.prefix = name + '/';
  inner.outer = defines_operator ? &s : nullptr;
  for (int i = 0; i < nodes.input_size(); ++i)
    inner.values[nodes.input(i)] = i < inputs ? input(n, i, s) : edge_ref{};
  for (const auto& [attribute_name, a] : f.defaults)
    inner.arguments[attribute_name] = const_cast<onnx::AttributeProto*>(&a);
  for (const auto& [attribute_name, a] : attributes)
    inner.arguments[attribute_name] = a;
  for (int i = 0; i < n.output_size(); ++i)
    if (!n.output(i).empty())
      inner.renamed.try_emplace(nodes.output(i), edge_name(n.output(i), s));
  convert_all(*nodes.mutable_node(), inner);
  for (int i = 0; i < n.output_size(); ++i) {
    if (n.output(i).empty())
      continue;
    const auto made = inner.values.find(nodes.output(i));
    if (made == inner.values.end() || made->second.index == no_edge)
      malformed("node " + title(n) + ": function '" + nodes.name() + "' never produces its output '" +
                nodes.output(i) + '\'');
    define(n.output(i), made->second, s);
  }
  active_.erase(&nodes);
}

} // namespace sluice::proto
