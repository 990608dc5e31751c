#pragma once

#include <sluice/actors/admission.hpp>
#include <sluice/actors/cut_run.hpp>
#include <sluice/actors/deadline_book.hpp>
#include <sluice/actors/graph_runtime.hpp>
#include <sluice/actors/node_supervisor.hpp>
#include <sluice/actors/options.hpp>
#include <sluice/actors/plan_book.hpp>
#include <sluice/actors/recent_call.hpp>
#include <sluice/actors/session_devices.hpp>
#include <sluice/actors/tracer.hpp>
#include <sluice/devices/block_pool.hpp>
#include <sluice/devices/memory_ledger.hpp>
#include <sluice/scheduler/described_device.hpp>

#include <caf/actor.hpp>

#include <condition_variable>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// What a session is made from.
struct session_setup {
  std::shared_ptr<const graph> model;
  std::shared_ptr<const operator_library> operators;
  session_options options;
  std::shared_ptr<executor> threads;
  std::shared_ptr<executor> blocking;
  std::shared_ptr<memory_ledger> device; ///< of cpu:0
  std::shared_ptr<block_pool> blocks;    ///< likewise
  std::vector<engine_device> devices;    ///< all, the host first
  unsigned intra_op = 1;
  std::uint32_t window = 4;
};

/// The state behind the handles of a session: its runtime, its plans, its entrance and its outcomes. The
/// session actor, the placement actor and callers on any thread work on it.
///
/// @threadsafe all members.
class SLUICE_API session_core final : public frame_listener,
                                      public node_actor::host,
                                      public std::enable_shared_from_this<session_core> {
public:
  session_core(session_setup setup, caf::actor_system& system);
  ~session_core();

  /// Spawns the actors. Once, after it is owned by a shared_ptr.
  /// @param devices  their actors, in the order of setup().devices
  void start(std::vector<caf::actor> devices);

  /// Starts a request. With `guest`, the calling thread may work for it before this returns, and waits in
  /// line where the queue is full.
  [[nodiscard]] intrusive_ptr<run_state> submit(feeds inputs, const run_options& options, bool guest,
                                                std::vector<value> into = {},
                                                std::vector<std::string> external = {},
                                                std::function<void(std::uint64_t)> when_opened = {});
  void cancel(run_state& r);
  /// Settles what is late. Called by the session actor when a time that it was told has come.
  void expire(run_state::clock::time_point now);
  void callback_failed(const std::string& what) noexcept;

  /// Refuses new requests from now on, waits until the others are done, at most `drain`, then cancels them
  /// and waits until nothing runs. Then the actors end. Idempotent. On a worker thread nothing is waited for,
  /// and the actors end with the last frame.
  void close(std::chrono::nanoseconds drain);

  // node_actor::host
  std::string take_token(node_cell& cell, std::uint64_t frame, std::uint32_t port, value v) override;
  void node_killed(node_cell& cell) noexcept override;
  /// The supervisor's part: a new actor in the place of one that was killed.
  void restart_node(const caf::actor_addr& dead);

  // frame_listener
  void on_quiescent(frame& f, worker& here) noexcept override;

  /// A plan that requests wait for is there. Called by the placement actor.
  void plan_ready(const plan_book::ticket& t, std::shared_ptr<const executable_plan> p,
                  std::exception_ptr failure);
  [[nodiscard]] std::shared_ptr<const executable_plan> make_plan(const plan_book::ticket& t);
  /// Device `d` is lost: plans that use it are made anew. Called by the placement actor.
  void device_lost(std::uint32_t d);

  // Requests that run in parts, session_batches.cpp. Called by the batching actor.
  [[nodiscard]] cut_resources resources_for_cuts();
  [[nodiscard]] std::shared_ptr<const executable_plan> make_part_plan(plan_request request,
                                                                      const std::vector<std::string>& names);
  [[nodiscard]] intrusive_ptr<run_state> make_part(const run_state& whole,
                                                   std::shared_ptr<const executable_plan> p,
                                                   std::vector<value> inputs, std::vector<value> into);
  void admit_part(run_state& r);
  /// What to plan for requests of `p`.
  [[nodiscard]] plan_request request_of(const executable_plan& p) const {
    return plans_.order_of(p)->request;
  }
  [[nodiscard]] std::span<const value> constants() const noexcept { return constants_; }
  /// Requests that were to be joined, and are not: each is admitted as if it came just now.
  void run_alone(const std::vector<intrusive_ptr<run_state>>& requests);
  /// The request has its outcome, unless it was stopped.
  void finish_cut(run_state& whole, run_state::outcome o);
  void note_cut(std::string explanation);
  [[nodiscard]] std::uint64_t memory_needed(feeds inputs);
  /// How the last requests that did not fit were cut.
  [[nodiscard]] std::string explain_cuts();

  [[nodiscard]] const session_setup& setup() const noexcept { return setup_; }
  [[nodiscard]] graph_runtime& runtime() noexcept { return runtime_; }
  [[nodiscard]] runtime_services& services() noexcept { return services_; }
  [[nodiscard]] memory_ledger& ledger() noexcept { return *ledger_; }
  [[nodiscard]] const session_devices& devices() const noexcept { return devices_; }
  [[nodiscard]] caf::actor session_actor() const { return session_actor_; }
  [[nodiscard]] std::optional<caf::actor> node(std::string_view name);
  [[nodiscard]] std::string explain(std::string_view node);
  void start_trace();
  void write_trace(std::ostream& to) const;
  [[nodiscard]] std::uint32_t in_flight();
  [[nodiscard]] std::uint64_t callbacks_failed() const noexcept { return callbacks_failed_.load(); }
  /// True if every counter and every turn is as it was before the first frame. Only while nothing is in
  /// flight.
  [[nodiscard]] bool at_rest();

private:
  enum class life : std::uint8_t {
    open,
    draining, ///< what was accepted runs, nothing else is accepted
    closed,   ///< what runs was stopped
  };

  /// Called with `lock` on mutex_, which it gives up.
  /// @param fresh  the options of a request that comes just now; null: it was accepted before
  void admit(run_state& r, std::unique_lock<std::mutex> lock, bool guest, const run_options* fresh);
  void opened(frame& f, run_state& r);
  void admit_waiting(bool memory_freed = false);
  void handed_over();
  /// Whether frames of `p` never fit, however little else is in use.
  [[nodiscard]] bool must_cut(const executable_plan& p) const;
  /// Hands a request that failed for want of memory in one piece to the batching actor. False if that is not
  /// how it ended; then it keeps no feeds.
  [[nodiscard]] bool runs_in_parts(run_state& r, const run_state::outcome& o);
  void cut_up(run_state& r, oversized_request what);
  /// Hands those who wait for `p` to the batching actor.
  void cut_waiting(const plan_book::ticket& t, std::shared_ptr<const executable_plan> p);
  /// Where the nodes of a plan go; null: all to the host. Takes mutex_ for a moment.
  /// @param keeping  whether to count with devices that free nothing before a frame ends
  [[nodiscard]] std::shared_ptr<const node_places> places(const plan_request& request, bool keeping);
  /// By scopes alone.
  [[nodiscard]] std::shared_ptr<node_places> scoped_places();
  void place_by_cost(node_places& made, plan_request request, bool keeping);
  [[nodiscard]] std::vector<described_device> described_devices(bool keeping) const;
  [[nodiscard]] bool is_strict() const;
  void end_actors();
  [[nodiscard]] error closed_error() const;
  // Under mutex_:
  void wait_for_plan(run_state& r, std::unique_ptr<plan_book::ticket> order, const run_options& options);
  [[nodiscard]] frame* try_open(run_state& r);
  /// Leases the frame's bytes, on all devices or on none.
  [[nodiscard]] bool try_lease(const run_state& r, memory_lease& own, std::vector<memory_lease>& others);
  [[nodiscard]] frame* open_next(std::vector<intrusive_ptr<run_state>>& refused);
  /// Hands the request that is next and those behind it that are like it to the batching actor. False if it
  /// is better run by itself.
  [[nodiscard]] bool joins(run_state& first);
  void watch_memory();
  /// Has a worker call admit_waiting(), for who may call it on any thread.
  [[nodiscard]] std::function<void()> admission_later(bool memory_freed);
  /// Whether a run may start over from its feeds if a device is lost under it.
  [[nodiscard]] bool may_run_again(const run_state& r) const;
  [[nodiscard]] bool runs_again(const run_state& r, const run_state::outcome& o) const;
  void run_again(run_state& r);
  void plan_again(run_state& r);
  void begin_deadline(run_state& r, const run_options& options);
  void note_deadline(run_state& r);
  void look_at_deadlines();
  [[nodiscard]] run_state::outcome outcome_of(frame& f, run_state& r);
  void stop_frame(frame& f, run_state& r);
  void deliver_external(frame& f, std::size_t fed, value v);
  [[nodiscard]] std::string out_of_memory_text(const executable_plan& p) const;

  const session_setup setup_;
  const std::shared_ptr<memory_ledger> ledger_;
  session_devices devices_;
  runtime_services services_;
  std::unique_ptr<tracer> tracer_; // made once, before services_.trace points to it
  graph_runtime runtime_;
  const std::vector<value> constants_; // by edge, folded
  memory_lease weights_;
  memory_lease packed_;
  const bool bounded_; // by a budget of memory
  plan_book plans_;

  std::mutex mutex_; // guards what follows
  std::condition_variable changed_;
  node_supervisor nodes_;
  recent_call recent_;
  admission entrance_;
  std::vector<intrusive_ptr<run_state>> running_;           // by slot
  std::vector<intrusive_ptr<frame_memory>> frame_memories_; // by slot
  std::map<std::uint64_t, std::uint32_t> external_frames_;  // number to slot, of frames that take tokens
  deadline_book deadlines_;
  std::vector<intrusive_ptr<run_state>> awaiting_loss_; // to run again, once it is known which device is lost
  std::vector<intrusive_ptr<run_state>> cut_;           // run in parts
  std::vector<std::string> cuts_explained_;
  std::shared_ptr<session_core> busy_; // itself, while frames are in flight
  std::uint64_t frames_opened_ = 0;
  life life_ = life::open;
  std::uint32_t handing_over_ = 0; // plans to requests that are in no list meanwhile
  bool memory_watched_ = false;    // the ledger will have it look at the queue again
  bool actors_ending_ = false;
  bool actors_ended_ = false;

  std::atomic<std::uint64_t> callbacks_failed_ = 0;
  caf::actor session_actor_;
  caf::actor placement_actor_;
  caf::actor batching_actor_;
};

} // namespace sluice
