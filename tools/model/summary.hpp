#pragma once

#include <sluice/graph/graph.hpp>

#include <tools/feeds/fit_value.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::tools {

/// What one operator adds up to in a graph, bodies of control flow included.
struct operator_total {
  std::size_t count = 0;
  std::size_t without_cost = 0; ///< how many of them have no known cost
  double flops = 0;             ///< of the others
  double bytes = 0;
};

/// What can be said of one node without running it.
struct node_summary {
  std::string name;
  std::string op;                                          ///< with its domain, if that is not ONNX's own
  std::vector<std::pair<std::string, value_type>> outputs; ///< by the name of the value
  std::optional<op_cost> cost{}; ///< nullopt where a shape depends on data, or the cost is that of bodies
};

/// What a model is.
struct model_summary {
  std::vector<node_summary> nodes; ///< of the graph itself, in its order
  std::map<std::string, operator_total> operators;
  std::size_t weights = 0; ///< constants, bodies included
  std::size_t weight_bytes = 0;
  std::size_t parameters = 0;   ///< elements of all constants
  op_cost cost{};               ///< of all nodes whose cost is known
  std::size_t without_cost = 0; ///< nodes whose cost is not known
  std::string note{};           ///< why shapes could not be inferred with these extents
};

/// Summarises `g` with symbols as `dims` says, and every other unknown extent of an input 1. Bodies of
/// control flow count as if each ran once.
[[nodiscard]] model_summary summarize(const graph& g, const dim_values& dims);

} // namespace sluice::tools
