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

/// Where an output goes: into an input of `step`, or, if that is null, into a result of the frame.
struct executable_route {
  const executable_step* step;
  std::uint32_t place;  ///< of the input in a slot, in bytes; or the number of the result
  std::uint16_t output; ///< of the step that it comes from
  std::uint16_t group;  ///< in the first route of an output: how many routes it has; 0 in the others
};

/// A step of a plan, laid out for firing: what the hot path reads, in one cache line.
struct alignas(64) executable_step {
  enum class kind : std::uint8_t {
    kernel,
    pure_function,
    stateful_function,
    blocking_function,
    control_flow,
    on_accelerator, ///< its firing only enqueues work
    on_other_cpu,   ///< a kernel or pure function on the threads of another CPU device
    transfer
  };

  node_cell* cell = nullptr;
  const prepared_kernel* kernel = nullptr; ///< null: a function, or prepared at firing
  const graph_function* function = nullptr;
  const executable_route* routes = nullptr;
  const plan_step* planned = nullptr; ///< the rest: constants, types
  std::uint32_t state_offset = 0;     ///< of the node's firing_state in a slot
  std::uint32_t index = 0;            ///< in the plan's topological order
  std::uint32_t arrivals = 0;         ///< of values and of the ends of steps that it waits for
  std::uint32_t route_count = 0;
  std::uint16_t inputs = 0;
  std::uint16_t outputs = 0;
  kind what = kind::kernel;
  bool has_constants : 1 = false;
  bool is_waited_for : 1 = false; ///< by steps that read nothing of it
  bool simple = false;            ///< a pure function with one output, no constants, and nobody waits for it
  /// It is simple, and by its cost, as seen last, not worth offering to other threads.
  mutable std::atomic<bool> quick = false;
};

/// A plan bound to the nodes of a runtime. Immutable, but for what is learned from running it.
struct executable_plan {
  /// Whether several heavy firings may be ready at once, by what is known of their costs; looked at again now
  /// and then as frames are opened. To be asked once for each frame.
  [[nodiscard]] bool expects_forks() const noexcept;

  /// Bytes that a frame needs: its arena, and what frames have needed at most beside it; until one has run,
  /// what is inferred from the shapes.
  [[nodiscard]] std::size_t frame_bytes() const noexcept {
    const auto known = high_water_.load(std::memory_order_relaxed);
    return source->arena_bytes + (known == no_frame_yet ? source->loose_bytes : known);
  }
  void note_loose_bytes(std::size_t peak) const noexcept;

  /// The step of a cell of the runtime, whose graph has `nodes` nodes; plan::no_step if the plan leaves it
  /// out.
  [[nodiscard]] std::uint32_t step_of(std::uint32_t cell, std::size_t nodes) const noexcept {
    if (cell < nodes)
      return source->step_of[cell];
    return cell - nodes < step_of_transfer.size() ? step_of_transfer[cell - nodes] : plan::no_step;
  }
  /// True until a frame was opened, about.
  [[nodiscard]] bool fresh() const noexcept { return frames_.load(std::memory_order_relaxed) == 0; }
  /// Whether requests may be joined into a batch, as far as is known.
  mutable std::atomic<bool> joinable = true;

  std::shared_ptr<const plan> source;
  std::vector<executable_step> steps;
  std::vector<std::vector<std::shared_ptr<const executable_plan>>> bodies; ///< by step; of control flow
  std::vector<executable_route> routes;                                    ///< of all steps
  std::vector<std::vector<executable_route>> feed_routes;                  ///< by fed edge
  std::vector<std::uint32_t> step_of_transfer; ///< by transfer of the runtime, as plan::step_of by node
  std::vector<node_cell*> absent_stateful;     ///< nodes with state that the plan leaves out
  std::shared_ptr<const std::vector<std::string>> result_names; ///< as they were asked for

private:
  static constexpr auto no_frame_yet = static_cast<std::size_t>(-1);

  [[nodiscard]] bool forks() const noexcept;

  mutable std::atomic<std::size_t> high_water_ = no_frame_yet;
  mutable std::atomic<std::uint32_t> frames_ = 0; // opened so far, about
  mutable std::atomic<bool> forks_ = false;       // as seen last
};

} // namespace sluice
