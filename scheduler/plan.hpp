#pragma once

#include <sluice/devices/operator_library.hpp>
#include <sluice/graph/graph.hpp>
#include <sluice/scheduler/node_places.hpp>

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

class kernel_cache;
struct plan;

/// What a plan is made for.
struct plan_request {
  struct fed_edge {
    edge_index edge = no_edge;
    value_type type; ///< as exact as it is known; every frame's value has it
    value known{};   ///< if it is the same for every frame (a body's captured constant)
  };
  std::vector<fed_edge> fed;                   ///< ordered by edge
  std::vector<edge_index> fetch;               ///< the values to deliver
  unsigned width = 1;                          ///< threads that may join one firing
  unsigned lanes = 0;                          ///< firings that may run at once; 0: no memory is laid out
  bool order_for_memory = true;                ///< the order of steps may be narrowed to save memory
  std::shared_ptr<const node_places> places{}; ///< null: everything on the host
};

/// One node of the executed graph.
struct plan_step {
  static constexpr std::uint32_t to_result = ~std::uint32_t{0};

  /// Where an output goes: into an input of a later step, or, as `to_result`, into the frame's result `port`.
  struct route {
    std::uint32_t step;
    std::uint32_t port;
  };
  /// Of an output in the frame's arena, in bytes from its begin.
  struct place {
    std::size_t header = 0;
    std::size_t elements = 0;
    std::size_t bytes = 0; ///< of the elements; 0: it has no place, its memory is its own
  };
  static constexpr auto no_place = ~std::size_t{0};
  struct bound_constant {
    std::uint32_t port;
    value constant;
  };

  node_index node = no_node; ///< none: it brings the value `moves` from one memory to another
  std::uint32_t device = 0;  ///< in the plan's devices; of a transfer: to which memory
  std::uint32_t stream = 0;  ///< on an accelerator: steps of one stream follow one another
  bool view = false;         ///< on an accelerator: its output is its first input in another shape
  edge_index moves = no_edge;
  std::uint32_t from = 0;           ///< of a transfer: the device whose memory the value is in
  std::string why{};                ///< it runs there; empty where the plan was made without places
  std::uint32_t dynamic_inputs = 0; ///< values that arrive; with the waits: what makes it fire
  std::uint32_t waits = 0;          ///< steps that must end before it, though it reads nothing of theirs
  std::vector<std::uint32_t> then;  ///< steps that wait so for this one
  std::vector<std::vector<route>> routes; ///< by output
  std::vector<bound_constant> constants;  ///< inputs that never change; bound, not sent
  std::vector<value_type> input_types;    ///< as planned; unknown where a shape depends on data
  std::vector<value_type> output_types;
  std::shared_ptr<const prepared_kernel>
      kernel; ///< null: prepared when it fires, for the shapes that arrived
  /// Control flow: in the order of the schema's bodies. Null where a body does not fit the inputs, as may be
  /// with the branch that is not taken: executing it throws the failure at its place in `body_failures`.
  std::vector<std::shared_ptr<const plan>> bodies;
  std::vector<std::exception_ptr> body_failures;
  std::vector<place> places;          ///< by output; empty if none has a place
  std::size_t scratch_at = no_place;  ///< in the frame's arena
  std::optional<double> estimated_ns; ///< of one firing; nullopt where shapes depend on data
};

/// In which orders the steps of a frame may run, so that its memory is small, and why.
struct memory_order_choice {
  enum class order : std::uint8_t {
    any,      ///< all that the data allow
    serial,   ///< one at a time
    branches, ///< several at a time, in lanes
  };
  order chosen = order::any;
  unsigned lanes = 0;          ///< of serial and branches
  std::size_t least_bytes = 0; ///< no arena that is safe for these orders is smaller
  std::size_t open_bytes = 0;  ///< what any order would take; 0 where nothing else was thought of
  double slowdown = 1;         ///< estimated time over that without regard to memory
};

/// A graph compiled for a fetch set, fed edges and their types: what runs, and where its outputs go.
/// Immutable; a frame executes exactly one.
struct plan {
  /// A result that no step makes: an input passed through, or a constant.
  struct direct_result {
    std::uint32_t result;
    edge_index fed; ///< no_edge: a constant
    value constant;
  };

  std::shared_ptr<const graph> source;
  std::vector<plan_request::fed_edge> fed;
  std::vector<edge_index> fetch;
  unsigned width = 1;
  std::vector<plan_step> steps;                           ///< in topological order
  std::vector<std::vector<plan_step::route>> feed_routes; ///< by fed edge
  std::vector<std::uint32_t> sources;                     ///< steps that fire when the frame starts
  std::vector<direct_result> direct;
  std::vector<std::uint32_t> step_of; ///< by node; no_step where the plan leaves the node out
  std::size_t arena_bytes = 0;        ///< of values and scratch spaces that have places
  std::size_t loose_bytes = 0;        ///< of the others, as far as inferred
  memory_order_choice memory_order;
  std::vector<plan_device> devices;       ///< the first is the host; none where everything is there
  std::vector<bool> used;                 ///< by device: whether steps run there
  std::vector<std::size_t> device_arenas; ///< bytes of values that have places there; of accelerators
  std::vector<std::size_t> device_bytes;  ///< of all on other devices, arenas included; of the host 0
  static constexpr std::uint32_t no_step = ~std::uint32_t{0};

  /// The device in whose memory a device's values lie: itself, or the host.
  [[nodiscard]] std::uint32_t memory_of(std::uint32_t device) const noexcept {
    return device > 0 && devices[device].own_memory ? device : 0;
  }
  /// Whether a step runs on `device`, or a value is brought there.
  [[nodiscard]] bool uses(std::uint32_t device) const noexcept { return device == 0 || used[device]; }
};

/// Kernels prepared for a node, its input types, constants and width, as long as somebody uses them; shared
/// between plans, so that weights are packed once. And what follows from the constants of bodies.
///
/// Whoever keeps a kernel keeps the constants that it was prepared for: kernels are told apart by where these
/// are. @threadsafe
class SLUICE_API kernel_cache {
public:
  explicit kernel_cache(std::shared_ptr<const operator_library> operators)
    : operators_(std::move(operators)) {}

  [[nodiscard]] const operator_library& operators() const noexcept { return *operators_; }

  /// The kernel for `n`. `inputs` has null where an input is left out; `constants` are values that never
  /// change. Null if it can only be prepared once the types or shapes are known. Throws what preparing
  /// throws, naming the node.
  [[nodiscard]] std::shared_ptr<const prepared_kernel>
  get(const graph::node& n, std::span<const value_type* const> inputs, std::span<const value> constants,
      std::span<const value_type> outputs, unsigned width);

  /// fold_constants() of a body, done once for each; by edge.
  [[nodiscard]] std::shared_ptr<const std::vector<value>>
  constants_of(const std::shared_ptr<const graph>& body);

  /// Bytes of packed constants in all kernels that are in use.
  [[nodiscard]] std::size_t packed_bytes() const;
  /// How many kernels are in use.
  [[nodiscard]] std::size_t size() const;

private:
  struct folded_body {
    std::shared_ptr<const graph> body; // kept, so that no other gets its address
    std::shared_ptr<const std::vector<value>> constants;
  };

  void forget_unused();

  const std::shared_ptr<const operator_library> operators_;
  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const prepared_kernel>> kernels_; // guarded by mutex_
  std::size_t forget_at_ = 64;                                          // guarded by mutex_
  std::map<const graph*, folded_body> bodies_;                          // guarded by mutex_
};

/// The values of all edges of `g` that follow from its constants alone, by edge; empty elsewhere.
[[nodiscard]] SLUICE_API std::vector<value> fold_constants(const graph& g, const operator_library& operators,
                                                           memory& from);

/// Compiles `g`.
/// @param constants  by edge, as fold_constants() gives them
/// Throws errc::invalid_argument if a fetched value needs an input that is not fed, naming both.
[[nodiscard]] SLUICE_API std::shared_ptr<const plan> make_plan(std::shared_ptr<const graph> g,
                                                               std::span<const value> constants,
                                                               const plan_request& request,
                                                               kernel_cache& kernels);

} // namespace sluice
