#pragma once

#include <sluice/graph/graph_builder.hpp>
#include <sluice/graph/onnx/catalog.hpp>
#include <sluice/graph/onnx/scoping.hpp>
#include <sluice/graph/onnx/values.hpp>
#include <sluice/graph/onnx_import.hpp>

#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace sluice::proto {

/// Hands out names that are unique in a graph. Names that the model gives are reserved first, so that made
/// ones avoid them.
class name_pool {
public:
  void reserve(const std::string& name) { reserved_.insert(name); }
  /// False if somebody has claimed the reserved name before.
  [[nodiscard]] bool claim(const std::string& name) { return claimed_.insert(name).second; }
  /// `stem` if it is free, otherwise with a number.
  [[nodiscard]] std::string fresh(const std::string& stem);
  /// `stem`_N with the first N that is free.
  [[nodiscard]] std::string numbered(const std::string& stem);

private:
  std::unordered_set<std::string> reserved_;
  std::unordered_set<std::string> claimed_;
  std::unordered_map<std::string, std::size_t> next_;
};

/// Turns the messages of one model into a graph. Used once; moves large weights out of the model.
class importer {
public:
  importer(onnx::ModelProto& model, std::shared_ptr<const op_registry> operators, const onnx_options& options,
           external_files files);

  /// Throws sluice::error that names the node or tensor.
  [[nodiscard]] onnx_model run();

private:
  using attribute_list = std::vector<std::pair<std::string, onnx::AttributeProto*>>;

  /// A graph being built.
  struct context {
    graph_builder builder;
    name_pool values{};
    name_pool nodes{};
    std::unordered_map<std::string, const onnx::TypeProto*> declared{};
    std::size_t nesting = 0;
  };

  /// What names mean at some place: in a graph, or in a function that is being inlined into one.
  struct scope {
    context& in;
    const opset_versions* opsets;
    std::unordered_map<std::string, edge_ref> values{};
    const scope* outer = nullptr; ///< where bodies inside an operator's definition look further
    std::string prefix{};         ///< of the names of what is inlined
    std::unordered_map<std::string, std::string>
        renamed{}; ///< a function's outputs, as its caller calls them
    std::unordered_map<std::string, onnx::AttributeProto*> arguments{}; ///< of the function's caller
    std::size_t calls = 0;

    [[nodiscard]] const edge_ref* find(const std::string& name) const;
  };

  /// A value that a body takes from around it.
  struct captured {
    std::string name;
    edge_ref outside;
    value_type type;
    value constant; ///< bound in the body if not empty, otherwise passed in by the owner
  };

  void add_initializers(onnx::GraphProto& g, scope& s);
  void add_inputs(const onnx::GraphProto& g, scope& s);
  void add_outputs(const onnx::GraphProto& g, scope& s, bool repeated);
  std::shared_ptr<const graph> body(onnx::GraphProto& g, const scope& owner,
                                    const std::vector<captured>& captures);

  void convert_all(node_list& nodes, scope& s);
  void convert(onnx::NodeProto& n, scope& s);
  void constant(const onnx::NodeProto& n, const attribute_list& attributes, scope& s);
  void registered(onnx::NodeProto& n, const attribute_list& attributes, const std::string& name, int opset,
                  scope& s);
  void call(onnx::NodeProto& n, const attribute_list& attributes, const std::string& name,
            const function_body& f, bool defines_operator, scope& s);
  [[nodiscard]] const function_body& definition(const onnx::NodeProto& n, const attribute_list& attributes,
                                                const resolution& found, int opset, const scope& s);

  [[nodiscard]] attribute_list attributes_of(onnx::NodeProto& n, const scope& s) const;
  [[nodiscard]] std::vector<captured> captures_of(const attribute_list& attributes, const scope& s);
  [[nodiscard]] attribute attribute_from(onnx::AttributeProto& a);
  [[nodiscard]] value weight(onnx::TensorProto& t);
  [[nodiscard]] value weight(onnx::SparseTensorProto& t);

  [[nodiscard]] int opset_of(const onnx::NodeProto& n, const scope& s) const;
  [[nodiscard]] edge_ref input(const onnx::NodeProto& n, int i, const scope& s) const;
  [[nodiscard]] std::string edge_name(const std::string& written, scope& s) const;
  void define(const std::string& written, edge_ref e, scope& s);
  void refine(edge_ref e, const std::string& name, const onnx::TypeProto& declared, context& in);
  void spend(std::size_t work);

  onnx::ModelProto& model_;
  const std::shared_ptr<const op_registry> operators_;
  const onnx_options& options_;
  external_files files_;
  model_info info_;
  scoping scoping_;
  std::optional<catalog> catalog_;
  std::unordered_map<const void*, value> weights_; // by their message, from which large ones were moved out
  std::set<const onnx::FunctionProto*> active_;    // calls that we are in
  std::size_t nodes_ = 0;
  std::size_t work_ = 0;
};

/// The operators of `model` that nothing executes.
[[nodiscard]] std::vector<unsupported_operator> survey(onnx::ModelProto& model, const op_registry& operators,
                                                       const onnx_options& options);

} // namespace sluice::proto
