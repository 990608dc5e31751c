#pragma once

#include <sluice/devices/operator_library.hpp>
#include <sluice/graph/graph.hpp>
#include <sluice/scheduler/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// Where the items of a batch lie in what goes into a graph and what comes out of it.
///
/// Running several items at once and cutting the results apart is then the same as running them one by one,
/// up to the rounding of kernels that are not batch-invariant.
struct batch_axes {
  /// The target of a Reshape in which a 1 that the model fixes stands for the batch.
  struct grown_target {
    node_index node = no_node;
    std::vector<std::int64_t> target; ///< with the 1 replaced, for a batch of any size
  };

  std::vector<std::optional<std::size_t>> fed; ///< by fed edge; nullopt: the same value serves all items
  std::vector<std::size_t> fetched;            ///< by fetched value
  std::vector<std::int64_t> fetched_rows;      ///< by fetched value: extent that an item has on the axis
  std::int64_t items = 0;                      ///< how many the fed types hold
  std::vector<grown_target> grown;             ///< only where the model fixes a batch of one
};

struct batch_verdict {
  std::optional<batch_axes> axes; ///< none: the batch cannot be cut or joined
  std::string reason; ///< if there are none: which node mixes the items, or what else is in the way
};

/// How far a model's declared batch of one binds.
enum class fixed_batch : std::uint8_t {
  stays,    ///< an extent that the model declares is none of a batch
  may_grow, ///< an extent of 1 may be one of a batch, for with_batch_dimension()
};

/// Proves by the meaning of each operator that no item of a batch sees another, and finds the axes.
///
/// @param constants  by edge, as fold_constants() gives them
/// @param request    its fed types are concrete tensors, of a batch of any size; its fetch set
/// The axes are searched for: most inputs have theirs in front, some states do not.
[[nodiscard]] SLUICE_API batch_verdict find_batch_axes(const graph& g, const operator_library& operators,
                                                       std::span<const value> constants,
                                                       const plan_request& request,
                                                       fixed_batch fixed = fixed_batch::stays);

/// `g` for batches of any size: its declared batch of one becomes the symbol "N", and the targets in
/// `axes.grown` those given there. `request` is the one that `axes` was found for.
[[nodiscard]] SLUICE_API std::shared_ptr<const graph>
with_batch_dimension(const graph& g, std::shared_ptr<const op_registry> operators,
                     const plan_request& request, const batch_axes& axes);

} // namespace sluice
