#include <sluice/graph/onnx/importer.hpp>

namespace sluice::proto {

std::string name_pool::fresh(const std::string& stem) {
  return !reserved_.contains(stem) && claim(stem) ? stem : numbered(stem);
}

std::string name_pool::numbered(const std::string& stem) {
  auto& n = next_[stem];
  auto name = stem + '_' + std::to_string(n++);
  while (reserved_.contains(name) || !claim(name))
    name = stem + '_' + std::to_string(n++);
  return name;
}

const edge_ref* importer::scope::find(const std::string& name) const {
  for (const auto* s = this; s; s = s->outer)
    if (const auto known = s->values.find(name); known != s->values.end())
      return &known->second;
  return nullptr;
}

importer::importer(onnx::ModelProto& model, std::shared_ptr<const op_registry> operators,
                   const onnx_options& options, external_files files)
  : model_(model), operators_(std::move(operators)), options_(options), files_(std::move(files)) {}

onnx_model importer::run() {
  info_.ir_version = model_.ir_version();
  info_.model_version = model_.model_version();
  info_.producer = model_.producer_name();
  info_.producer_version = model_.producer_version();
  info_.domain = model_.domain();
  info_.description = model_.doc_string();
  for (const auto& entry : model_.metadata_props())
    info_.metadata.insert_or_assign(entry.key(), entry.value());
  info_.opsets = opsets_from(model_.opset_import(), "the model");
  info_.opsets.try_emplace("", 1); // as models had it before there were versions
  catalog_.emplace(*operators_, model_, info_.opsets);

  auto& g = *model_.mutable_graph();
  if (const auto& outside = scoping_.free_names(g); !outside.empty())
    malformed("'" + outside.front() + "' is used, but nothing produces it");
  context top{graph_builder{operators_, info_.opsets.at("")}};
  for (const auto& name : scoping_.defined(g))
    top.values.reserve(name);
  scope s{top, &info_.opsets};
  add_inputs(g, s);
  add_initializers(g, s);
  for (const auto& v : g.value_info())
    top.declared.insert_or_assign(v.name(), &v.type());
  convert_all(*g.mutable_node(), s);
  add_outputs(g, s, false);
  return {top.builder.build(g.name()), std::move(info_)};
}

void importer::add_inputs(const onnx::GraphProto& g, scope& s) {
  std::set<std::string> preset;
  for (const auto& t : g.initializer())
    preset.insert(t.name());
  for (const auto& t : g.sparse_initializer())
    preset.insert(t.values().name());
  auto shapes = options_.input_shapes;
  for (const auto& v : g.input()) {
    if (preset.contains(v.name()))
      continue;
    auto type = type_from(v.type(), "input '" + v.name() + '\'');
    if (const auto wanted = shapes.find(v.name()); wanted != shapes.end()) {
      type = value_type{type.element(), wanted->second};
      shapes.erase(wanted);
    }
    s.values[v.name()] = s.in.builder.placeholder(v.name(), std::move(type));
  }
  if (!shapes.empty())
    throw error{errc::invalid_argument,
                "a shape is given for '" + shapes.begin()->first + "', which is no input"};
}

void importer::add_initializers(onnx::GraphProto& g, scope& s) {
  for (auto& t : *g.mutable_initializer())
    s.values[t.name()] = s.in.builder.constant(t.name(), weight(t));
  for (auto& t : *g.mutable_sparse_initializer())
    s.values[t.values().name()] = s.in.builder.constant(t.values().name(), weight(t));
  for (const auto& v : g.input())
    if (const auto known = s.values.find(v.name()); known != s.values.end())
      refine(known->second, v.name(), v.type(), s.in);
}

void importer::add_outputs(const onnx::GraphProto& g, scope& s, bool repeated) {
  std::set<std::string> names;
  for (const auto& v : g.output()) {
    const auto* e = s.find(v.name());
    if (!e || e->index == no_edge)
      malformed("output '" + v.name() + "' is never produced");
    refine(*e, v.name(), v.type(), s.in);
    // The outputs of a body go by their place, so that two may be the same value.
    const auto fresh = names.insert(v.name()).second;
    s.in.builder.output(fresh || !repeated ? v.name() : s.in.values.fresh(v.name()), *e);
  }
}

std::shared_ptr<const graph> importer::body(onnx::GraphProto& g, const scope& owner,
                                            const std::vector<captured>& captures) {
  const auto& own = scoping_.defined(g);
  context inside{graph_builder{operators_, owner.opsets->at("")}};
  inside.nesting = owner.in.nesting + 1;
  if (inside.nesting > options_.max_nesting)
    unsupported("graph '" + g.name() + "' is nested deeper than " + std::to_string(options_.max_nesting) +
                " bodies");
  for (const auto& name : own)
    inside.values.reserve(name);
  scope s{inside, owner.opsets};
  s.arguments = owner.arguments;
  s.calls = owner.calls;

  for (const auto& v : g.input())
    s.values[v.name()] =
        inside.builder.placeholder(v.name(), type_from(v.type(), "input '" + v.name() + '\''));
  // A sibling body may take a name from outside that this one defines itself.
  for (const auto& c : captures) {
    const auto mine = !own.contains(c.name);
    if (mine)
      inside.values.reserve(c.name);
    if (!c.constant.empty()) {
      if (mine)
        s.values[c.name] = inside.builder.constant(c.name, c.constant);
      continue;
    }
    const auto e = inside.builder.placeholder(mine ? c.name : inside.values.fresh(c.name + "/outer"), c.type);
    if (mine)
      s.values[c.name] = e;
  }
  for (const auto& t : g.initializer())
    if (s.values.contains(t.name()))
      malformed("graph '" + g.name() + "': '" + t.name() + "' is both an input and an initializer of a body");
  add_initializers(g, s);
  for (const auto& v : g.value_info())
    inside.declared.insert_or_assign(v.name(), &v.type());
  convert_all(*g.mutable_node(), s);
  add_outputs(g, s, true);
  return inside.builder.build(g.name());
}

void importer::convert_all(node_list& nodes, scope& s) {
  for (const auto& n : nodes)
    s.in.nodes.reserve(s.prefix + n.name());
  for (auto* n : scoping_.ordered(nodes))
    convert(*n, s);
}

} // namespace sluice::proto
