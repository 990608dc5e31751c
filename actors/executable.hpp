#pragma once

#include <sluice/scheduler/plan.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice {

struct node_cell;
struct executable_step;

/// Where an output goes: into an input of `step`, or, if that is null, into the frame's result number `port`.
struct executable_route {
  const executable_step* step;
  std::uint32_t port;
  std::uint16_t output; ///< of the step that it comes from
  bool last;            ///< the last route of that output: takes the value instead of sharing it
};

/// A step of a plan, laid out for firing: what the hot path reads, and nothing else.
struct executable_step {
  enum class kind : std::uint8_t {
    kernel,
    pure_function,
    stateful_function,
    blocking_function,
    control_flow
  };

  node_cell* cell = nullptr;
  const prepared_kernel* kernel = nullptr; ///< null: prepared at firing
  const graph_function* function = nullptr;
  std::uint32_t state_offset = 0; ///< of the node's firing_state in a slot
  std::uint32_t index = 0;        ///< in the plan's topological order
  std::uint32_t dynamic_inputs = 0;
  std::uint16_t inputs = 0;
  std::uint16_t outputs = 0;
  kind what = kind::kernel;
  std::span<const executable_route> routes;
  const plan_step* planned = nullptr; ///< the rest: constants, types, bodies
  std::vector<std::shared_ptr<const struct executable_plan>> bodies{};
};

/// A plan bound to the nodes of a runtime. Immutable.
struct executable_plan {
  std::shared_ptr<const plan> source;
  std::vector<executable_step> steps;
  std::vector<executable_route> routes;                         ///< of all steps
  std::vector<std::vector<executable_route>> feed_routes;       ///< by fed edge
  std::vector<node_cell*> absent_stateful;                      ///< nodes with state that the plan leaves out
  std::shared_ptr<const std::vector<std::string>> result_names; ///< as they were asked for
  bool forks = false;                              ///< several heavy firings may be ready at once
  mutable std::atomic<std::size_t> high_water = 0; ///< bytes that a frame has needed at most; 0: none has run
};

} // namespace sluice
