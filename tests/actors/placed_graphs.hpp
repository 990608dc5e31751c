#pragma once

#include <sluice/actors/engine.hpp>

#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

/// A graph with device scopes, and where its nodes are meant to go.
struct placed_graph {
  std::string name;
  std::shared_ptr<const graph> model;
  std::vector<std::string> fetch; ///< outputs and values in between
};

/// Forks and joins, chains that can be computed in place, views, weights, values read on several devices,
/// feeds and intermediate values that are fetched; input "x", float32[4, 6]. Scopes name `first` and
/// `second`.
[[nodiscard]] std::vector<placed_graph> placed_graphs(const engine& e, const std::string& first,
                                                      const std::string& second);

/// The input of these graphs; other numbers for another seed.
[[nodiscard]] value small_matrix(unsigned seed);

/// True if both have the same types, shapes and bits.
[[nodiscard]] bool same_bits(const value& a, const value& b);

/// Returns when nobody holds the session any more: a worker or an actor that has just answered may be the
/// last to let go of it.
void wait_until_gone(const std::weak_ptr<session_core>& core);

} // namespace sluice::test
