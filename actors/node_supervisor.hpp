#pragma once

#include <sluice/actors/graph_runtime.hpp>
#include <sluice/actors/node_actor.hpp>

#include <caf/actor.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice {

/// The node actors of a session: who stands for which node, who was killed, who has come in its place. Only
/// the session's lock keeps threads apart, under which all but end() is called.
class node_supervisor {
public:
  explicit node_supervisor(graph_runtime& runtime) : runtime_(runtime) {}

  /// Spawns an actor for each node.
  void start(std::weak_ptr<node_actor::host> h);
  /// Spawns the actor of a node that a plan has added.
  [[nodiscard]] caf::actor add(node_cell& cell) { return spawn(cell); }
  [[nodiscard]] std::vector<caf::actor> actors() const;
  /// The actor of a node, also inside bodies ("If_3/inner").
  [[nodiscard]] std::optional<caf::actor> find(std::string_view name) const;

  /// A node's actor was killed: frames open now fail there, and nothing may be opened until it is replaced.
  void killed(node_cell& cell);
  [[nodiscard]] bool anyone_down() const noexcept { return down_ > 0; }
  /// Spawns an actor in the place of a dead one. None if it is nobody's.
  [[nodiscard]] std::optional<caf::actor> replace(const caf::actor_addr& dead);
  /// Those replaced, whom frames in flight may still call: to be let go when none is.
  [[nodiscard]] std::vector<caf::actor> take_dead() { return std::exchange(dead_, {}); }

  /// Ends all actors. After it nothing else is called.
  void end();

private:
  caf::actor spawn(node_cell& cell);

  graph_runtime& runtime_;
  std::weak_ptr<node_actor::host> host_;
  std::map<caf::actor_addr, node_cell*> cells_;
  std::map<node_cell*, caf::actor> actors_;
  std::vector<caf::actor> dead_;
  std::uint32_t down_ = 0; // killed, not replaced yet
};

} // namespace sluice
