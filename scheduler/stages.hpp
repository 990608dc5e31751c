#pragma once

#include <sluice/graph/export.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct plan;

/// A graph as it is cut into stages: its steps in one order, with the bytes of their values for one item.
struct staged_graph {
  using index = std::uint32_t;
  static constexpr index fed = ~index{0};

  struct value {
    std::uint64_t bytes = 0; ///< for one item
    index maker = fed;       ///< the step that makes it
    bool result = false;
  };
  struct step {
    std::vector<index> reads; ///< values
    std::vector<index> makes;
    std::vector<index> weights;
    std::uint64_t scratch = 0; ///< bytes for one item
    double ns = 0;             ///< of one item
  };

  std::vector<step> steps; ///< in topological order
  std::vector<value> values;
  std::vector<std::uint64_t> weights; ///< bytes of each
};

/// The stages of `p`, a plan for `items` items: values that do not depend on the batch count for each item.
[[nodiscard]] SLUICE_API staged_graph staged_graph_of(const plan& p, std::int64_t items);

/// What a graph is cut into stages for.
struct stage_request {
  std::int64_t items = 1;
  std::uint64_t budget = 0; ///< of the device: weights, packed and plain, and values
  /// True where values between stages are kept outside the budget: the device is not the host. Otherwise they
  /// count, for all items, and only weights come in and out, from their file.
  bool kept_elsewhere = true;
  double bytes_per_ns = 10; ///< of the link, or of the file
};

/// How a graph runs part by part: each stage over all items, in passes of as many as fit, then the next.
struct stage_plan {
  struct stage {
    std::uint32_t first = 0, last = 0; ///< its steps [first, last)
    std::uint64_t weight_bytes = 0;
    std::uint64_t in_bytes = 0;   ///< brought in for one item
    std::uint64_t out_bytes = 0;  ///< kept of one item, for later stages or as results
    std::uint64_t item_bytes = 0; ///< the most bytes that one item has at once
    std::int64_t items = 0;       ///< of a pass: as many as fit beside the weights
  };

  std::vector<stage> stages;     ///< empty: it is not possible
  std::uint64_t kept_bytes = 0;  ///< the most bytes that all items together keep between two stages
  std::uint64_t moved_bytes = 0; ///< over the link for the whole request, weights included
  double moved_ns = 0;           ///< what moving them takes
  double computed_ns = 0;        ///< what computing is estimated to take
  std::string reason;            ///< why it is not possible
};

/// Cuts a graph where least must be moved, so that each stage fits: the optimum over all cuts of the given
/// order of its steps, where that has at most `most_cuts` places; otherwise over those where least is alive.
[[nodiscard]] SLUICE_API stage_plan plan_stages(const staged_graph& g, const stage_request& r);

/// A table of the stages and what they cost.
[[nodiscard]] SLUICE_API std::string to_string(const stage_plan& p);

} // namespace sluice
