#pragma once

#include <sluice/graph/graph.hpp>

#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// One execution of a control-flow node (If, Loop, Scan), as a machine without threads: it says which body to
/// run on which inputs, is told what came out, and says what comes next. Whoever drives it runs the bodies.
///
/// Used by one thread at a time.
class SLUICE_API control_flow {
public:
  struct action {
    enum class kind : std::uint8_t { run_body, finished } what = kind::finished;
    std::size_t body = 0;      ///< run_body: which of the schema's bodies
    std::vector<value> values; ///< the body's inputs, captures included; or, finished, the node's outputs
  };

  virtual ~control_flow() = default;

  /// What to do first.
  [[nodiscard]] virtual action begin() = 0;
  /// What to do after the body gave `outputs`.
  [[nodiscard]] virtual action body_done(std::vector<value> outputs) = 0;
};

/// True if the node is executed by running its bodies.
[[nodiscard]] SLUICE_API bool is_control_flow(const graph::node& n) noexcept;

/// An execution of `n` on `inputs` (captures last). New tensors come from `from`, which outlives the
/// execution. Throws errc::kernel_failed for inputs that cannot be iterated over.
[[nodiscard]] SLUICE_API std::unique_ptr<control_flow>
make_control_flow(const graph::node& n, std::span<const value> inputs, memory& from);

} // namespace sluice
