#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace sluice {

class kernel_profile;
class placement_file;

/// How a node's device scope is meant.
enum class placement : std::uint8_t {
  soft,   ///< a node whose device has no kernel for it goes elsewhere, and explain() says so
  strict, ///< it is an error
};

/// What becomes of the frames in flight on a device that is lost.
enum class device_loss : std::uint8_t {
  fail,  ///< they fail with errc::device_lost
  retry, ///< they run again from their feeds without the device, unless they have nodes with state
};

/// Options of a session.
struct session_options {
  std::string name{}; ///< for reports; the model's name if empty

  /// Threads that may join one firing (a convolution). 0: the system picks.
  unsigned intra_op_parallelism_threads = 0;
  /// Firings that may run at once. 0: the system picks.
  unsigned inter_op_parallelism_threads = 0;
  /// A pool shared by all sessions that name it; inter_op_parallelism_threads is its size. Empty: a private
  /// pool if inter_op_parallelism_threads is set, otherwise the engine's.
  std::string pool{};

  sluice::placement placement = sluice::placement::soft;
  /// Device scopes by rules; they count more than those in the graph. Null: none.
  std::shared_ptr<const placement_file> placement_rules{};
  /// Whether nodes that neither scopes nor rules place go where the run is estimated to finish first, within
  /// the devices' budgets, decided for each plan; otherwise they stay on the host. With several devices
  /// making a plan then takes some 0.1 s more.
  bool place_by_cost = true;
  /// Measured times of kernels, to place by. Null: formulas alone.
  std::shared_ptr<const kernel_profile> kernel_times{};
  device_loss on_device_loss = device_loss::fail;
  /// Bytes that the session may use, by device ("cpu:0").
  std::map<std::string, std::size_t> memory_budget{};
  /// Whether nodes that do not depend on each other may be told to wait for each other where that saves much
  /// memory and costs little time. explain() says what was decided.
  bool order_for_memory = true;

  std::uint64_t seed =
      0; ///< of random operators that have none of their own: the same seed, the same numbers in each frame

  std::uint32_t window = 0; ///< frames in flight; 0: twice the CPU budget, at least 4
  /// Requests that may run as one batch when they wait in the queue anyway and their items do not see each
  /// other. 1: each runs by itself, with the bits that it has by itself.
  std::size_t join_requests = 1;
  std::size_t queue_limit =
      1024; ///< requests that wait; beyond, run_async answers queue_full and run waits in line
};

/// The bytes that `budgets` allow on `device`; as many as there are, if it is not named.
[[nodiscard]] std::size_t budget_of(const std::string& device,
                                    const std::map<std::string, std::size_t>& budgets);
/// Throws errc::invalid_argument if a budget is given for none of `devices`.
void check_budgets(const std::map<std::string, std::size_t>& budgets, std::span<const std::string> devices);

/// Options of one run.
struct run_options {
  std::chrono::nanoseconds deadline{0}; ///< from the call on; 0: none
  int priority = 0;                     ///< of requests that wait, the highest is admitted first
  std::vector<std::string> fetch{}; ///< values to deliver, outputs or intermediate ones; empty: all outputs
  std::stop_token stop{};           ///< a request to stop cancels the run
};

/// The parallelism of a session, as in force.
struct thread_settings {
  unsigned intra_op = 1;
  unsigned inter_op = 1;
};

} // namespace sluice
