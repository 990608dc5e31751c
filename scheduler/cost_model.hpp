#pragma once

#include <sluice/graph/export.hpp>
#include <sluice/graph/graph.hpp>
#include <sluice/scheduler/kernel_profile.hpp>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace sluice {

struct plan;
struct plan_step;

/// What one firing of `n` costs by its operator's formula, or, where it has none, by the bytes that it
/// writes; nullopt for functions, control flow, and where a shape depends on data.
[[nodiscard]] SLUICE_API std::optional<op_cost> firing_cost(const graph::node& n,
                                                            std::span<const value_type* const> inputs,
                                                            std::span<const value> constants,
                                                            std::span<const value_type> outputs);

/// The same for a step of a plan.
[[nodiscard]] SLUICE_API std::optional<op_cost> firing_cost(const plan& p, const plan_step& s);

/// What a cost model's answer comes from.
enum class cost_source {
  measured,  ///< this kernel with these types was measured
  corrected, ///< the formula, corrected by other measured kernels of the same operator
  formula,
  unknown, ///< shapes depend on data, or there is no formula
};

[[nodiscard]] SLUICE_API std::string_view to_string(cost_source s) noexcept;

/// How long steps take on the CPU: what was measured on this machine, otherwise formulas with rates.
///
/// A formula is the greater of flops at the rate that the kind of operator reaches and bytes at that of the
/// memory, plus what a firing costs in any case. Where other kernels of the operator were measured, it is
/// multiplied by the median of what these took more than it said.
///
/// @threadsafe to ask.
class SLUICE_API cost_model {
public:
  /// Without measurements.
  cost_model() = default;
  /// @param measured  of the machine at hand; null: none
  explicit cost_model(std::shared_ptr<const kernel_profile> measured);

  struct estimate {
    double ns = 0;
    cost_source from = cost_source::unknown;
  };

  /// One firing of `s` with the plan's width. Control flow: its bodies once each, with the longer one of two
  /// alternatives; what is unknown counts as unknown_ns.
  [[nodiscard]] estimate of(const plan& p, const plan_step& s) const;

  /// What a step is taken to last of which nothing is known.
  static constexpr double unknown_ns = 2'000;

private:
  [[nodiscard]] estimate of_bodies(const plan_step& s, const graph::node& n) const;

  std::shared_ptr<const kernel_profile> measured_;
  std::map<std::string, double, std::less<>> corrections_; // by operator: measured over formula
};

} // namespace sluice
