#pragma once

#include <sluice/actors/feeds.hpp>
#include <sluice/actors/options.hpp>
#include <sluice/actors/run_state.hpp>
#include <sluice/graph/graph.hpp>

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

class session_core;

/// A loaded graph, ready to run; every node an actor. A handle: copies are the same session, which lives as
/// long as one of them or a run does, also longer than its engine (runs then answer errc::engine_closed).
///
/// @threadsafe all members, from any number of threads at once.
class SLUICE_API session {
public:
  explicit session(std::shared_ptr<session_core> core) : core_(std::move(core)) {}

  /// Runs once and waits. The calling thread works for its own run meanwhile, so that a small model never
  /// waits for another thread. Throws what went wrong, and errc::blocking_call on a worker thread (in a
  /// callback, a node's function or an actor): use run_async() there.
  values run(feeds inputs, const run_options& options = {});

  /// The same into the caller's tensors: `results` names outputs and gives tensors of their type and shape,
  /// made by tensor::make and not shared. They are written before this returns, and returned.
  values run_into(feeds inputs, feeds results, const run_options& options = {});

  /// Starts a run. Each has exactly one outcome: results, an error, a cancellation or a deadline. Independent
  /// runs are answered as they finish. Never blocks: a full queue is the outcome errc::queue_full.
  pending_result run_async(feeds inputs, const run_options& options = {});

  /// The graph that was loaded.
  [[nodiscard]] const graph& model() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept;
  /// The parallelism in force, where the options left it to the system too.
  [[nodiscard]] thread_settings threads() const noexcept;
  /// Frames that may be in flight at once.
  [[nodiscard]] std::uint32_t window() const noexcept;
  /// What the session's part of the memory ledger says: bytes in use on the host, their peak, and in the
  /// report bytes by purpose and budget, a line a device.
  [[nodiscard]] std::size_t memory_in_use() const noexcept;
  [[nodiscard]] std::size_t memory_peak() const noexcept;
  [[nodiscard]] std::string memory_report() const;

  /// Bytes that a run with inputs of these types would use in one piece: weights, values and results, as its
  /// plan estimates; what is fed is not counted. Throws as run() does for inputs that do not fit the graph.
  [[nodiscard]] std::uint64_t memory_needed(feeds inputs) const;

  /// Where a node runs, by whose word, with which kernel and at what cost, as recorded when it was decided.
  [[nodiscard]] std::string explain(std::string_view node) const;

  /// How the last requests that were too large for the memory budget were cut into parts, and what was
  /// measured.
  [[nodiscard]] std::string explain_cuts() const;

  /// From now on firings are recorded; write_trace() writes them as a Chrome trace.
  void start_trace();
  void write_trace(std::ostream& to) const;

  /// Refuses new runs, waits at most `drain` for the others, then cancels them. From a worker thread, nothing
  /// is waited for.
  void close(std::chrono::nanoseconds drain = std::chrono::seconds{5});

  [[nodiscard]] const std::shared_ptr<session_core>& core() const noexcept { return core_; }

private:
  std::shared_ptr<session_core> core_;
};

} // namespace sluice
