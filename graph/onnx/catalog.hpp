#pragma once

#include <sluice/graph/onnx/proto.hpp>
#include <sluice/graph/op_schema.hpp>

#include <onnx/defs/schema.h>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::proto {

using opset_versions = std::map<std::string, int>;

/// The versions that a model or function imports. Throws errc::invalid_model, with `owner` in the message.
[[nodiscard]] opset_versions
opsets_from(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
            const std::string& owner);

/// A function as nodes that can stand in place of a call.
struct function_body {
  onnx::FunctionProto* nodes = nullptr;
  opset_versions opsets{};
  std::map<std::string, onnx::AttributeProto> defaults{}; ///< of attributes that a call leaves out
};

/// What executes a node.
struct resolution {
  enum class kind {
    constant,   ///< ONNX's Constant
    registered, ///< an operator of the registry
    function,   ///< `body`
    definition, ///< operators that ONNX gives as this one's meaning, depending on a node's types
    missing,    ///< `reason`
  };
  kind what = kind::missing;
  const function_body* body = nullptr;
  const onnx::OpSchema* schema = nullptr;
  std::string reason{};
};

/// Finds what executes the nodes of one model: its own functions first, then the registry, then ONNX's own
/// definitions of operators by other operators.
class catalog {
public:
  /// Throws errc::invalid_model for functions that are not well-formed.
  catalog(const op_registry& operators, onnx::ModelProto& model, const opset_versions& opsets);

  [[nodiscard]] resolution resolve(const onnx::NodeProto& n, int opset);

  /// ONNX's nodes for `call`, whose attributes are complete and whose inputs have the given types; null if
  /// it does not say. The body lives as long as the catalog.
  [[nodiscard]] const function_body* expand(const onnx::OpSchema& schema, const onnx::NodeProto& call,
                                            const std::vector<onnx::TypeProto>& input_types, int opset);

private:
  const function_body* fixed_definition(const onnx::OpSchema& schema, int opset);

  const op_registry& operators_;
  std::map<std::string, function_body> functions_; // of the model, by domain, name and overload
  std::unordered_map<const onnx::OpSchema*, function_body> fixed_;
  std::deque<function_body> expanded_;
  std::deque<onnx::FunctionProto> owned_;
};

} // namespace sluice::proto
