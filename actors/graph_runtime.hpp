#pragma once

#include <sluice/actors/executable.hpp>
#include <sluice/actors/frame.hpp>
#include <sluice/actors/turns.hpp>
#include <sluice/scheduler/late_kernels.hpp>
#include <sluice/scheduler/plan.hpp>

#include <caf/fwd.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

class node_actor;
class session_devices;
class tracer;

/// What the nodes of a session share.
struct runtime_services {
  caf::actor_system& system;
  std::shared_ptr<executor> threads;
  std::shared_ptr<executor> blocking; ///< for functions that may block
  std::shared_ptr<kernel_cache> kernels;
  std::atomic<tracer*> trace = nullptr; ///< null: not tracing; frames look when they are opened
  std::atomic<std::uint64_t> kills = 0; ///< node actors killed so far
  std::uint64_t seed = 0; ///< of random operators without one of their own; each frame has another
  bool stepped = false;   ///< each delivery is a job of its own
  unsigned width = 1;     ///< threads that may join one firing
  session_devices* devices = nullptr; ///< of plans with places
};

/// What stays of a node when its actor is replaced.
struct alignas(64) node_cell {
  // Read at every firing.
  std::atomic<node_actor*> actor = nullptr;
  std::atomic<std::uint64_t> killed = 0; ///< the number of its last kill; frames opened before it fail here
  std::atomic<float> cost_ns = -1;       ///< of a firing, estimated, then sampled; negative: not known yet
  std::uint32_t state_offset = 0;
  // The rest.
  const graph::node* node = nullptr;
  node_index index = no_node;                         ///< of transfers: counted on after the nodes
  std::unique_ptr<turns> order;                       ///< of a node with state
  std::vector<std::unique_ptr<graph_runtime>> bodies; ///< of control flow
  std::unique_ptr<late_kernels> late;                 ///< once a plan leaves its kernel to the firing
};

/// Whether the node brings a value from one memory to another.
[[nodiscard]] inline bool is_transfer(const node_cell& c) noexcept {
  return !c.node->schema && !c.node->function;
}

/// What brings a value to the memory of a device: a node of the executed graph that no graph has.
struct transfer_node {
  graph::node node; ///< "conv1/out → sim:0"
  node_cell cell;
  edge_index moves = no_edge;
  std::string device;
};

/// A graph made ready to run: an actor for each node, and a window of slots for frames. Plans may add nodes
/// that bring values to other devices.
class graph_runtime {
public:
  graph_runtime(std::shared_ptr<const graph> g, runtime_services& services, std::uint32_t window,
                bool is_body = false);
  ~graph_runtime();
  graph_runtime(const graph_runtime&) = delete;
  graph_runtime& operator=(const graph_runtime&) = delete;

  [[nodiscard]] const graph& source() const noexcept { return *graph_; }
  [[nodiscard]] runtime_services& services() const noexcept { return services_; }
  [[nodiscard]] std::vector<node_cell>& cells() noexcept { return cells_; }
  [[nodiscard]] std::uint32_t slot_bytes() const noexcept { return slot_bytes_; }
  [[nodiscard]] frame& slot(std::uint32_t i) noexcept { return *slots_[i]; }
  [[nodiscard]] std::uint32_t window() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }

  /// Makes nodes for those transfers of `p` that have none yet, and returns their cells. Under the lock under
  /// which frames are opened; before bind(), by the same thread.
  [[nodiscard]] std::vector<node_cell*> add_transfers(const plan& p);
  [[nodiscard]] std::deque<transfer_node>& transfers() noexcept { return transfers_; }

  /// Binds a plan of this graph to its nodes.
  [[nodiscard]] std::shared_ptr<const executable_plan> bind(std::shared_ptr<const plan> p);

  /// The cell of a node, also inside bodies ("If_3/inner"); null if there is none.
  [[nodiscard]] node_cell* find(std::string_view name);

  /// Calls `f` with every cell, bodies included.
  template <class F>
  void for_each_cell(F f) {
    for (auto& c : cells_) {
      f(c);
      for (auto& body : c.bodies)
        body->for_each_cell(f);
    }
    for (auto& t : transfers_)
      f(t.cell);
  }

private:
  [[nodiscard]] transfer_node* find_transfer(edge_index e, std::string_view device) noexcept;

  const std::shared_ptr<const graph> graph_;
  runtime_services& services_;
  std::vector<node_cell> cells_;        // by node
  std::deque<transfer_node> transfers_; // only grows
  std::uint32_t slot_bytes_ = 0;
  std::vector<std::unique_ptr<frame>> slots_;
};

} // namespace sluice
