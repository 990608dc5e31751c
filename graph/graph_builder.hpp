#pragma once

#include <sluice/graph/graph.hpp>
#include <sluice/graph/tensor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// A value of a graph under construction. Valid for the builder that gave it.
struct edge_ref {
  edge_index index = no_edge;
};

/// Puts a graph together. What is wrong is said at once where the call shows it, otherwise by build(): each
/// error is errc::invalid_graph and names the node. Not thread-safe.
class SLUICE_API graph_builder {
public:
  /// Operators are looked up in `operators`, at `opset` of ONNX's own domain unless an operator says
  /// otherwise.
  explicit graph_builder(std::shared_ptr<const op_registry> operators, int opset = 17);
  ~graph_builder();
  graph_builder(graph_builder&&) noexcept;
  graph_builder& operator=(graph_builder&&) noexcept;

  /// An input that is fed when the graph runs.
  edge_ref placeholder(std::string name, value_type type);
  template <Element T>
  edge_ref placeholder(std::string name, partial_shape shape) {
    return placeholder(std::move(name), value_type{element_type_of<T>, std::move(shape)});
  }

  /// A value that never changes.
  edge_ref constant(std::string name, value v);

  struct op_options {
    std::string name{};                 ///< of the node; made from the operator and a number if empty
    std::string domain{};               ///< "" is ONNX's own
    std::optional<int> opset{};         ///< of the domain
    std::vector<std::string> outputs{}; ///< names of the outputs, and so their number; "" takes a made name
    std::size_t captures = 0;           ///< how many of the inputs, the last ones, belong to the bodies
  };

  /// A node by its operator's name; returns its outputs. An input with index no_edge is left out.
  std::vector<edge_ref> op_outputs(std::string op, std::vector<edge_ref> inputs, attribute_map attributes,
                                   op_options options);
  /// The same for a node with one output.
  edge_ref op(std::string op, std::vector<edge_ref> inputs, attribute_map attributes, op_options options);
  edge_ref op(std::string op, std::vector<edge_ref> inputs, attribute_map attributes = {},
              std::string name = {});

  edge_ref matmul(edge_ref a, edge_ref b, std::string name = {}) {
    return op("MatMul", {a, b}, {}, std::move(name));
  }
  edge_ref add(edge_ref a, edge_ref b, std::string name = {}) {
    return op("Add", {a, b}, {}, std::move(name));
  }
  edge_ref relu(edge_ref x, std::string name = {}) { return op("Relu", {x}, {}, std::move(name)); }

  /// A plain C++ function as a node with outputs of the given types. What it makes is compared with them at
  /// its first firing and at some later ones; one that is wrong fails the frame and names the node.
  std::vector<edge_ref> function(std::string name, std::vector<edge_ref> inputs,
                                 std::vector<value_type> outputs, graph_function f);

  /// Names a value as an output of the graph. The name need not be the edge's own.
  void output(std::string name, edge_ref e);

  /// While it lives, nodes are made with this device: "cuda", "cpu:0". Scopes nest; the inner one wins. It
  /// must not outlive the builder, nor be open when that is moved.
  class [[nodiscard]] device_scope {
  public:
    explicit device_scope(graph_builder& g) noexcept : builder_(&g) {}
    device_scope(const device_scope&) = delete;
    device_scope& operator=(const device_scope&) = delete;
    ~device_scope();

  private:
    graph_builder* builder_;
  };
  device_scope on(std::string device);

  /// What is known of a value so far.
  [[nodiscard]] const value_type& type(edge_ref e) const;
  /// States more about a value, such as a shape that a model file declares. Contradiction is an error.
  void refine(edge_ref e, const value_type& declared);
  [[nodiscard]] const value& constant_of(edge_ref e) const;

  /// Checks everything and gives the graph; the builder is empty afterwards.
  [[nodiscard]] std::shared_ptr<const graph> build(std::string name = {});

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace sluice
