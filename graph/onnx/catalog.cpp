#include <sluice/graph/onnx/catalog.hpp>

#include <sluice/graph/onnx/scoping.hpp>

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace sluice::proto {

namespace {

// Fields of later ONNX versions than the generated messages know.
constexpr int node_overload_field = 8;
constexpr int function_attribute_default_field = 11;
constexpr int function_overload_field = 13;

template <class F>
void each_later_field(const google::protobuf::Message& m, int number, F&& f) {
  const auto& unknown = m.GetReflection()->GetUnknownFields(m);
  for (int i = 0; i < unknown.field_count(); ++i)
    if (const auto& field = unknown.field(i);
        field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      f(field.length_delimited());
}

std::string key_of(const google::protobuf::Message& m, int overload_field, const std::string& domain,
                   const std::string& name) {
  auto key = domain_of(domain) + '\0' + name;
  each_later_field(m, overload_field, [&](const std::string& overload) { (key += '\0') += overload; });
  return key;
}

/// Operators of ONNX's own domain whose meaning (not only their element types) changed after opset 18, by
/// ONNX's changelog up to the newest opset that it lists.
constexpr int newest_known_opset = 28;
constexpr std::array<std::pair<std::string_view, int>, 8> changed_later = {{
    {"AveragePool", 19},
    {"DFT", 20},
    {"DequantizeLinear", 21},
    {"GridSample", 20},
    {"GroupNormalization", 21},
    {"Pad", 19},
    {"QuantizeLinear", 21},
    {"Resize", 19},
}};

/// Whether ONNX's builders of definitions may be called: they follow pointers without a look where types are
/// unknown, and where a body does not fit its node.
bool can_expand(const onnx::NodeProto& call, const std::vector<onnx::TypeProto>& input_types) {
  for (int i = 0; i < call.input_size(); ++i)
    if (!call.input(i).empty() &&
        input_types[static_cast<std::size_t>(i)].value_case() == onnx::TypeProto::VALUE_NOT_SET)
      return false;
  const auto& attributes = call.attribute();
  return std::all_of(attributes.begin(), attributes.end(), [&](const onnx::AttributeProto& a) {
    return !a.has_g() ||
           (a.g().input_size() == call.input_size() && a.g().output_size() == call.output_size());
  });
}

bool outdated(const op_schema& schema, int opset) {
  return schema.domain.empty() &&
         (opset > newest_known_opset ||
          std::any_of(changed_later.begin(), changed_later.end(), [&](const auto& change) {
            return change.first == schema.name && opset >= change.second &&
                   schema.since_opset < change.second;
          }));
}

} // namespace

opset_versions opsets_from(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
                           const std::string& owner) {
  opset_versions result;
  for (const auto& import : imports) {
    const auto domain = domain_of(import.domain());
    const auto shown = domain.empty() ? "ai.onnx" : domain;
    if (import.version() < 1 || import.version() > std::numeric_limits<int>::max())
      throw error{errc::invalid_model,
                  owner + " imports version " + std::to_string(import.version()) + " of domain " + shown};
    const auto version = static_cast<int>(import.version());
    if (const auto [entry, fresh] = result.try_emplace(domain, version); !fresh && entry->second != version)
      throw error{errc::invalid_model, owner + " imports two versions of domain " + shown};
  }
  return result;
}

catalog::catalog(const op_registry& operators, onnx::ModelProto& model, const opset_versions& opsets)
  : operators_(operators) {
  for (auto& f : *model.mutable_functions()) {
    const auto owner = "function '" + f.name() + '\'';
    function_body body{&f, opsets_from(f.opset_import(), owner)};
    body.opsets.insert(opsets.begin(), opsets.end());
    each_later_field(f, function_attribute_default_field, [&](const std::string& bytes) {
      onnx::AttributeProto a;
      if (!a.ParseFromString(bytes))
        throw error{errc::invalid_model, owner + " has a damaged default of an attribute"};
      body.defaults.insert_or_assign(a.name(), std::move(a));
    });
    if (!functions_.try_emplace(key_of(f, function_overload_field, f.domain(), f.name()), std::move(body))
             .second)
      throw error{errc::invalid_model, owner + " is defined twice"};
  }
}

resolution catalog::resolve(const onnx::NodeProto& n, int opset) {
  const auto domain = domain_of(n.domain());
  resolution result;
  if (const auto own = functions_.find(key_of(n, node_overload_field, domain, n.op_type()));
      own != functions_.end()) {
    result.what = resolution::kind::function;
    result.body = &own->second;
    return result;
  }
  if (domain.empty() && n.op_type() == "Constant") {
    result.what = resolution::kind::constant;
    return result;
  }
  if (const auto* schema = operators_.find(domain, n.op_type(), opset)) {
    if (!outdated(*schema, opset)) {
      result.what = resolution::kind::registered;
      return result;
    }
    result.reason = "known only as it was at opset " +
                    std::to_string(opset > newest_known_opset ? newest_known_opset : schema->since_opset);
    return result;
  }
  result.reason = operators_.knows(domain, n.op_type()) ? "not known for this opset" : "unknown operator";
  result.schema = onnx::OpSchemaRegistry::Schema(n.op_type(), opset, domain);
  if (!result.schema)
    return result;
  if (result.schema->HasFunction()) {
    result.what = resolution::kind::function;
    result.body = fixed_definition(*result.schema, opset);
  } else if (result.schema->HasContextDependentFunction()) {
    result.what = resolution::kind::definition;
  }
  return result;
}

const function_body* catalog::fixed_definition(const onnx::OpSchema& schema, int opset) {
  const auto [entry, fresh] = fixed_.try_emplace(&schema);
  auto& body = entry->second;
  if (fresh) {
    body.nodes = &owned_.emplace_back(*schema.GetFunction()); // a copy: weights are moved out of messages
    body.opsets = opsets_from(body.nodes->opset_import(), "operator " + schema.Name());
    body.opsets.try_emplace("", opset);
    for (const auto& [name, a] : schema.attributes())
      if (a.default_value.has_type())
        body.defaults.emplace(name, a.default_value);
  }
  return &body;
}

const function_body* catalog::expand(const onnx::OpSchema& schema, const onnx::NodeProto& call,
                                     const std::vector<onnx::TypeProto>& input_types, int opset) {
  if (!can_expand(call, input_types))
    return nullptr;
  auto& nodes = owned_.emplace_back();
  try {
    schema.Verify(call);
    if (!schema.BuildContextDependentFunction(onnx::FunctionBodyBuildContextImpl{call, input_types}, nodes))
      return nullptr;
  } catch (const std::exception& e) { // ONNX's own errors have no common base of theirs
    throw error{errc::invalid_model, "node " + title(call) + ": " + e.what()};
  }
  auto& body = expanded_.emplace_back();
  body.nodes = &nodes;
  body.opsets = opsets_from(nodes.opset_import(), "operator " + schema.Name());
  body.opsets.try_emplace("", opset);
  for (const auto& [name, a] : schema.attributes())
    if (a.default_value.has_type())
      body.defaults.emplace(name, a.default_value);
  return &body;
}

} // namespace sluice::proto
