#pragma once

#include <sluice/graph/graph_builder.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/evaluate.hpp>

#include <cmath>
#include <span>
#include <string>
#include <vector>

namespace sluice::test {

struct run_options {
  std::size_t outputs = 1;
  int opset = 17;
  std::string domain{};
  std::vector<std::size_t> constants{}; ///< inputs that the graph knows before data flows
};

/// Builds a graph of one operator and evaluates it; empty values are inputs left out.
inline std::vector<value> run_op(const std::string& op, const std::vector<value>& inputs,
                                 attribute_map attributes = {}, const run_options& options = {}) {
  graph_builder g{standard_operators()->schemas(), options.opset};
  std::vector<edge_ref> edges;
  std::vector<value> feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto name = "x" + std::to_string(i);
    const auto constant =
        std::find(options.constants.begin(), options.constants.end(), i) != options.constants.end();
    if (inputs[i].empty()) {
      edges.push_back({});
    } else if (constant) {
      edges.push_back(g.constant(name, inputs[i]));
    } else {
      edges.push_back(g.placeholder(name, value_type::of(inputs[i])));
      feeds.push_back(inputs[i]);
    }
  }
  std::vector<std::string> names(options.outputs);
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = "y" + std::to_string(i);
  const auto outputs = g.op_outputs(op, edges, std::move(attributes),
                                    {.name = "tested", .domain = options.domain, .outputs = names});
  for (std::size_t i = 0; i < outputs.size(); ++i)
    g.output(names[i], outputs[i]);
  const auto built = g.build();
  auto results = evaluate(*standard_operators(), *built, feeds);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i].empty() && !built->at_edge(built->outputs()[i]).type.admits(results[i]))
      throw error{errc::kernel_failed, op + " gave " + describe(results[i]) + ", inferred was " +
                                           to_string(built->at_edge(built->outputs()[i]).type)};
  return results;
}

/// The largest |a - b| over max(1, the largest |b|); infinity if the shapes differ.
template <class T>
double difference(const value& a, std::span<const T> b) {
  const auto x = a.tensor().data<T>();
  if (x.size() != b.size())
    return INFINITY;
  double worst = 0;
  double scale = 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto d = std::abs(static_cast<double>(static_cast<float>(x[i])) -
                            static_cast<double>(static_cast<float>(b[i])));
    worst = d <= worst ? worst : d; // keeps a NaN
    scale = std::max(scale, std::abs(static_cast<double>(static_cast<float>(b[i]))));
  }
  return worst / scale;
}
template <class T>
double difference(const value& a, const std::vector<T>& b) {
  return difference(a, std::span<const T>{b});
}

} // namespace sluice::test
