#pragma once

#include <sluice/actors/executable.hpp>
#include <sluice/actors/run_state.hpp>
#include <sluice/devices/frame_memory.hpp>
#include <sluice/scheduler/batch_axes.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace sluice {

/// Requests of one plan that run as one batch. The batching actor drives it.
struct joint_run {
  std::vector<intrusive_ptr<run_state>> requests; ///< in the order of their arrival
  std::shared_ptr<const executable_plan> single;  ///< the plan of each
  intrusive_ptr<frame_memory> memory;             ///< of what is fed
};

/// What is known of joining requests of one plan.
struct joint_kind {
  std::shared_ptr<const executable_plan> single; ///< kept, so that no other gets its address
  std::optional<batch_axes> axes;                ///< none: they cannot be joined
  std::map<std::size_t, std::shared_ptr<const executable_plan>> plans; ///< by number of requests
};

/// What the feeds of all requests take as one batch.
[[nodiscard]] std::size_t joint_feed_bytes(const joint_run& run, const batch_axes& axes);

/// The feeds of all requests as one batch, in the order of the fed edges, in `run.memory`. nullopt if a value
/// that serves all items differs between requests.
[[nodiscard]] std::optional<std::vector<value>> joint_feeds(const joint_run& run, const batch_axes& axes);

/// The results of request `i`: views of the batch's where it lies in front, otherwise copies.
[[nodiscard]] std::vector<value> results_of_one(const std::vector<value>& all, const batch_axes& axes,
                                                std::size_t i);

} // namespace sluice
