#pragma once

#include "shapes.hpp"

#include <memory>
#include <string>
#include <vector>

namespace sluice::bench {

/// What a contender is to run.
struct firing_setting {
  dataflow_shape shape;
  unsigned workers = 1;
  unsigned frames = 1; ///< in flight at once
  double work_ns = 0;  ///< of each node
};

/// A system that runs frames of a graph.
class contender {
public:
  virtual ~contender() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// Runs `count` frames; returns when the last is complete.
  virtual void run(std::uint64_t count) = 0;
};

[[nodiscard]] std::unique_ptr<contender> make_sluice(const firing_setting& s);

/// oneTBB's flow graphs: function_node serial and unlimited, each also lightweight, and continue_node plain
/// and lightweight (which carry no values and run one frame at a time). Empty where oneTBB is not installed.
[[nodiscard]] std::vector<std::unique_ptr<contender>> make_tbb(const firing_setting& s);

/// Taskflow, a copy of the graph for each frame in flight. Empty where no checkout was given.
[[nodiscard]] std::vector<std::unique_ptr<contender>> make_taskflow(const firing_setting& s);

} // namespace sluice::bench
