#pragma once

#include <sluice/scheduler/cost_model.hpp>
#include <sluice/scheduler/described_device.hpp>
#include <sluice/scheduler/placement.hpp>
#include <sluice/scheduler/placement_file.hpp>
#include <sluice/scheduler/plan.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// A plan as a problem of placement, and what is which.
///
/// A node that only shows its first input otherwise (Reshape, Identity, …), and that nobody gave a place, is
/// no step of the problem: it costs nothing and goes where that value is made. Feeds and results are the
/// host's. Nodes whose shapes depend on data, functions, control flow, and what makes or takes other values
/// than tensors of numbers have kernels on CPUs alone; functions with state and control flow on the host.
struct plan_problem {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  placement_problem problem;
  std::vector<std::uint32_t> step_of;      ///< by step of the plan: its step in the problem; none: a view
  std::vector<std::uint32_t> plan_step_of; ///< by step of the problem: its step in the plan
  std::vector<std::uint32_t> value_of;     ///< by edge of the graph: its value in the problem; none: no value
  std::vector<std::string> cpu_only;       ///< by step of the problem: why no accelerator can, "" if not so
  std::vector<cost_source> cost_from;      ///< by step of the problem
  std::uint32_t host = 0;                  ///< device
};

/// What placement goes by besides plan and devices.
struct placing {
  const placement_file* rules = nullptr; ///< count more than the graph's device scopes
  const cost_model* costs = nullptr;     ///< null: formulas alone
  bool strict = false;                   ///< refuse what cannot be kept; rules that say so count as well
  std::size_t effort = placement_options{}.effort;
};

/// Describes `p`, which was made for the CPU alone. One of `devices` is "cpu:0", the host. Throws
/// errc::invalid_argument if not, if `p` has places already, or if a rule of the file does not fit the graph.
[[nodiscard]] SLUICE_API plan_problem describe(const plan& p, std::span<const described_device> devices,
                                               const placing& by = {});

/// Where the nodes of a plan go, and why.
struct placed_plan {
  plan_problem described;
  made_placement made;
  /// By node of the graph: a position in the devices that were given. Of a node that the plan leaves out,
  /// the host.
  std::vector<std::uint32_t> device_of;

  /// "conv1: sim:0, by cost: …": who decided about a node of the graph, the alternatives and their costs, as
  /// recorded when it was decided.
  [[nodiscard]] SLUICE_API std::string explain(const plan& p, node_index n) const;
};

/// Decides where the nodes of `p` execute: describe(), then place(). This is all that a session needs to ask:
/// the answer's device_of says the device of each node. Takes up to some 0.1 s. Deterministic.
///
/// Throws errc::out_of_memory if nothing fits, with the sentence of placement_shortage;
/// errc::invalid_argument as describe() and place() do.
[[nodiscard]] SLUICE_API placed_plan place_plan(const plan& p, std::span<const described_device> devices,
                                                const placing& by = {});

} // namespace sluice
