#pragma once

#include <sluice/graph/attributes.hpp>
#include <sluice/graph/op_schema.hpp>
#include <sluice/graph/value_type.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

using node_index = std::uint32_t;
using edge_index = std::uint32_t;
inline constexpr node_index no_node = ~node_index{0};
inline constexpr edge_index no_edge = ~edge_index{0}; ///< an optional input that is left out

/// How a plain C++ function that serves as a node behaves.
enum class function_kind : std::uint8_t {
  pure, ///< no state: may run for several frames at once
  /// Keeps state: runs for one frame at a time, in frame order. The sessions of its graph share the state;
  /// their calls do not overlap, and come in no particular order between sessions.
  stateful,
  blocking, ///< may block: runs outside the CPU's workers, for several frames at once
};

/// A plain C++ function as a node. It may move its inputs out; it fills all its outputs or throws.
struct graph_function {
  std::function<void(std::span<value> inputs, std::span<value> outputs)> call;
  function_kind kind = function_kind::pure;
};

/// A dataflow graph: nodes joined by edges. Immutable, checked when built, nodes in topological order.
///
/// A graph may be the body of a control-flow node. Its inputs are then the body's formal inputs, followed by
/// the values it captures from outside, which the owner has as explicit inputs after its own.
///
/// @threadsafe it never changes.
class SLUICE_API graph {
public:
  struct node {
    std::string name;   ///< unique in the graph
    std::string domain; ///< "" is ONNX's own
    std::string op;     ///< operator, or "function"
    int opset = 0;
    const op_schema* schema = nullptr; ///< null for a function
    std::shared_ptr<const graph_function> function;
    attribute_map attributes;
    std::vector<edge_index> inputs; ///< no_edge where left out; captured values come last
    std::vector<edge_index> outputs;
    std::size_t captures = 0; ///< how many of the inputs are captured by the node's bodies
    std::string device;       ///< device scope, "" if none
  };

  struct edge {
    std::string name; ///< unique in the graph
    value_type type;
    node_index producer = no_node;
    std::uint32_t port = 0;            ///< which of the producer's outputs
    value constant;                    ///< a weight or other constant; empty if the value flows
    std::vector<node_index> consumers; ///< one entry per input it feeds
  };

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::span<const node> nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::span<const edge> edges() const noexcept { return edges_; }
  [[nodiscard]] std::span<const edge_index> inputs() const noexcept { return inputs_; }
  [[nodiscard]] std::span<const edge_index> outputs() const noexcept { return outputs_; }
  /// The names of the outputs, in the same order; inputs go by their edge's name.
  [[nodiscard]] std::span<const std::string> output_names() const noexcept { return output_names_; }

  [[nodiscard]] const node& at(node_index i) const noexcept { return nodes_[i]; }
  [[nodiscard]] const edge& at_edge(edge_index i) const noexcept { return edges_[i]; }

  /// The node or edge of that name; no_node or no_edge if there is none.
  [[nodiscard]] node_index find_node(std::string_view name) const;
  [[nodiscard]] edge_index find_edge(std::string_view name) const;

private:
  friend class graph_builder;

  std::string name_;
  std::vector<node> nodes_;
  std::vector<edge> edges_;
  std::vector<edge_index> inputs_;
  std::vector<edge_index> outputs_;
  std::vector<std::string> output_names_;
  std::map<std::string, node_index, std::less<>> node_names_;
  std::map<std::string, edge_index, std::less<>> edge_names_;
  std::vector<std::shared_ptr<const void>> keeps_; // what schemas and constants point into
};

/// The types of a node's outputs, given what is known of its inputs, as its schema infers them; a function's
/// are what was declared, and are not asked here. Throws errc::invalid_graph, or what inference threw, naming
/// the node.
[[nodiscard]] SLUICE_API std::vector<value_type> infer_outputs(const graph::node& n,
                                                               std::span<const value_type* const> inputs,
                                                               std::span<const value> constants);

/// "Conv 'conv1'": what a message calls a node.
[[nodiscard]] SLUICE_API std::string title(const graph::node& n);

/// The types of all edges of `g` when its inputs have the given types, and where `known` has a value, that
/// value. Throws errc::invalid_graph naming the node.
[[nodiscard]] SLUICE_API std::vector<value_type>
infer_types(const graph& g, std::span<const value_type> inputs, std::span<const value> known = {});

} // namespace sluice
