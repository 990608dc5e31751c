#pragma once

#include <sluice/graph/onnx_import.hpp>
#include <sluice/scheduler/memory_plan.hpp>
#include <sluice/scheduler/placed_memory.hpp>
#include <sluice/scheduler/plan_placement.hpp>

#include <tools/execution.hpp>
#include <tools/feeds/fit_value.hpp>
#include <tools/planning/devices.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::tools {

/// What `sluice plan` is asked.
struct planning_options {
  std::string model;
  dim_values dims;                 ///< extents of symbols
  std::vector<std::string> shapes; ///< "x=1x3x640x960": of whole inputs
  device_options devices;
  std::string placement; ///< file of rules; empty: none
  bool strict = false;
  execution_options execution;
  std::string profile;  ///< file of kernel times; empty: the user's own
  bool measure = false; ///< measure the model's kernels first
};

/// What a device's memory is in one order of steps.
struct arena_summary {
  std::string order;     ///< "one at a time", "two at a time", "any"
  step_schedule allowed; ///< which schedules that means
  memory_plan layout;
  double ns = 0; ///< estimated time of the steps; 0: not known
  std::size_t in_place = 0;
};

/// A device and what the plan makes of it.
struct planned_device {
  described_device device;
  std::string budget_from; ///< "the machine", "--budget"
  placed_memory memory;
  std::vector<arena_summary> arenas;
  std::size_t steps = 0;
  double busy_ns = 0;
  std::size_t peak_bytes = 0; ///< as placement estimates it, weights included
};

/// Steps of a device between one arrival of data from elsewhere and the next.
struct plan_part {
  std::uint32_t device = 0;
  std::vector<std::uint32_t> steps; ///< of the problem, by start
  double start_ns = 0;
  double finish_ns = 0;
  double work_ns = 0;
  std::size_t arriving_bytes = 0;
  std::size_t made_bytes = 0;
  std::size_t weight_bytes = 0;
};

/// How much of the plan's time comes from where.
struct cost_coverage {
  std::size_t steps[4] = {}; ///< by cost_source
};

/// A model with its plan, placed on devices.
struct model_plan {
  onnx_model model;
  std::shared_ptr<const sluice::plan> plan;
  placed_plan placed;
  std::vector<planned_device> devices;
  std::vector<plan_part> parts;
  std::optional<double> host_only_ns; ///< finish time on the host alone; nullopt if that does not fit
  cost_coverage costs;
  std::string profile_file;
  double planning_ms = 0; ///< without reading the model and preparing kernels
  double preparing_ms = 0;
  std::vector<std::string> notes; ///< rules that met no node, …

  [[nodiscard]] const placement_problem& problem() const noexcept { return placed.described.problem; }
};

/// Reads the model and plans it. Throws command_error and `error`, in one sentence.
[[nodiscard]] model_plan make_model_plan(const planning_options& o);

} // namespace sluice::tools
