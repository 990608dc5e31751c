#pragma once

#include <sluice/actors/executable.hpp>
#include <sluice/devices/executor.hpp>
#include <sluice/devices/frame_memory.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

namespace sluice {

class device_block;
class graph_runtime;
class tracer;
struct frame;

/// Hears when a frame has nothing left to fire.
class frame_listener {
public:
  /// Called once for each opening, by the thread that did the frame's last work.
  virtual void on_quiescent(frame& f, worker& here) noexcept = 0;

protected:
  ~frame_listener() = default;
};

/// What one node keeps for one frame: how many inputs have arrived, and the inputs. It lies in the frame's
/// slot, not in the actor, and outlives the actor. Between frames it is all zeros, but for bound constants.
struct firing_state final : job {
  firing_state(frame& f, node_cell& c, std::uint32_t n) : owner(f), cell(c), input_count(n) {}

  void run(worker& here) noexcept override; ///< fires: for a firing that was offered to other threads
  [[nodiscard]] value* inputs() noexcept { return reinterpret_cast<value*>(this + 1); }
  /// Where, in a slot, the input `port` of the state at `state_offset` lies, in bytes.
  [[nodiscard]] static constexpr std::uint32_t place_of_input(std::uint32_t state_offset,
                                                              std::uint32_t port) noexcept;

  frame& owner;
  node_cell& cell;
  const std::uint32_t input_count;
  std::atomic<std::uint32_t> arrived = 0;
  bool has_turn = false; ///< of a node with state: the turn was given while the firing waited
};

constexpr std::uint32_t firing_state::place_of_input(std::uint32_t state_offset,
                                                     std::uint32_t port) noexcept {
  return state_offset + static_cast<std::uint32_t>(sizeof(firing_state) + port * sizeof(value));
}

/// One run of a graph, in one slot of its window.
///
/// It counts its activities: jobs queued or running, kernels pending, tokens expected from outside. At zero
/// nothing can happen any more: it is quiescent.
///
/// As a job it starts the frame.
struct frame final : job {
  /// What firings have to look at. The first two are poison: kernels are skipped and empty values passed on.
  enum mark : std::uint32_t {
    healthy = 0,
    failed = 1,  ///< a node failed: those after it skip
    stopped = 2, ///< cancelled or late: all skip
    watched = 4, ///< firings are traced, or each is a job of its own
    bereaved = 8 ///< a node of the session was killed
  };
  static constexpr auto nothing_failed = std::numeric_limits<std::uint32_t>::max();

  frame(graph_runtime& runtime, std::uint32_t slot);
  ~frame();
  frame(const frame&) = delete;
  frame& operator=(const frame&) = delete;

  /// Prepares for a run of `p`. Only while quiescent. `feeds` are ordered as the plan's fed edges.
  void open(std::shared_ptr<const executable_plan> p, std::vector<value> feeds, frame* parent,
            frame_listener& who);

  void run(worker& here) noexcept override; ///< starts it, and then what it made room for

  /// Delivers the feeds and fires what is ready, on this thread; returns when it has nothing more to do here.
  void start(worker& here) noexcept;
  /// The same without ending the start's own activity. For whoever wants to know what the last one was.
  void start_only(worker& here) noexcept;

  /// Ends an activity; the last one makes the frame quiescent.
  void release(worker& here) noexcept {
    // What this thread wrote for the frame is released; the last one acquires what all others wrote.
    if (activities.fetch_sub(1, std::memory_order_acq_rel) == 1)
      listener->on_quiescent(*this, here);
  }

  /// Marks the frame failed by step `index`; the topologically first failure counts.
  void fail(std::uint32_t index, std::exception_ptr why) noexcept;
  void stop() noexcept { marks.fetch_or(stopped, std::memory_order_relaxed); }
  /// A node was killed; released, so that who sees the mark sees which.
  void bereave() noexcept { marks.fetch_or(bereaved, std::memory_order_release); }

  [[nodiscard]] std::uint32_t all_marks() const noexcept {
    return marks.load(std::memory_order_acquire) | root->marks.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool poisoned() const noexcept { return (all_marks() & (failed | stopped)) != 0; }
  /// Whether step `s` skips its kernel; asked only if poisoned().
  [[nodiscard]] bool skips(const executable_step& s, std::span<const value> inputs) const noexcept;

  [[nodiscard]] firing_state& state(std::uint32_t offset) noexcept {
    return *reinterpret_cast<firing_state*>(block.get() + offset);
  }
  /// Fills an input, which is empty until then.
  void put(std::uint32_t place, value v) noexcept { new (block.get() + place) value{std::move(v)}; }
  /// False for a transfer that the runtime has got since the frame ran last.
  [[nodiscard]] bool has_state_of(const node_cell& cell) const noexcept;
  /// The step of `cell` in the frame's plan.
  [[nodiscard]] const executable_step& step_of(const node_cell& cell) const noexcept;

  graph_runtime& runtime;
  const std::uint32_t slot;
  frame* root = this;     ///< the frame of the session that this one, of a body, belongs to
  frame* owner = nullptr; ///< the frame of the node that runs this one; null in the root
  frame_listener* listener = nullptr;
  intrusive_ptr<frame_memory> memory; ///< of the root
  /// Of the root, by device: where its values there lie. Empty in a plan without places.
  std::vector<intrusive_ptr<frame_memory>> accounts;
  std::mutex arenas_mutex;
  std::vector<intrusive_ptr<device_block>> arenas; ///< likewise, of accelerators; guarded by arenas_mutex
  std::uint64_t number = 0;                        ///< of the root
  std::uint64_t opened_after_kill = 0;             ///< how many nodes had been killed when it was opened
  tracer* trace = nullptr;                         ///< of the root; null: not tracing
  /// Whether another thread may work for the frame. Until then its only thread counts arrivals without atomic
  /// operations. Set by that thread before it hands anything over, which orders all that came before.
  bool shared = false;
  /// Another thread may work for the frame from now on, and for those whose node runs it.
  void share() noexcept {
    for (auto* f = this; f && !f->shared; f = f->owner)
      f->shared = true;
  }
  bool in_burst = false; ///< of the root: threads were told to expect work
  std::vector<value> feeds;
  std::vector<value> results;
  std::shared_ptr<const executable_plan> plan; ///< stays bound until another is opened
  std::atomic<std::uint32_t> activities = 0;
  std::atomic<std::uint32_t> marks = healthy;
  std::atomic<std::uint32_t> first_failed = nothing_failed;
  std::mutex failure_mutex;
  std::exception_ptr failure; // guarded by failure_mutex; free to read when quiescent

private:
  struct block_deleter {
    void operator()(std::byte* p) const noexcept;
  };

  template <class F>
  void for_each_cell(F f); // that has a state
  void make_states();
  void destroy_states();
  void bind_constants();

  std::unique_ptr<std::byte[], block_deleter> block; // the firing states of all nodes
  std::size_t transfers = 0;                         // of the runtime, how many have a state
  const executable_plan* bound = nullptr;            // whose constants stand in the states
};

} // namespace sluice
