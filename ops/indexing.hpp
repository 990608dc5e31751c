#pragma once

#include <sluice/graph/shape.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// What the operators that gather and those that scatter share.
namespace sluice::ops {

/// Throws errc::kernel_failed unless `indices` has the rank of `data` and is nowhere longer, but on `axis`.
void require_within(const shape& indices, const shape& data, std::size_t axis);

/// The parts of a tensor that tuples of indices name.
struct tuple_plan {
  std::vector<std::int64_t> offsets; ///< in elements, one per tuple
  std::int64_t run = 1;              ///< elements in each part
  std::size_t indexed_axes = 0;      ///< leading axes of the data that a tuple fixes
};

/// What the tuples along the last axis of `indices`, of shape `s`, name in data of shape `data`; the first
/// `batch` axes are common to both. Throws errc::kernel_failed for an index out of range or shapes that do
/// not fit.
[[nodiscard]] tuple_plan index_tuples(std::span<const std::int64_t> indices, const shape& s,
                                      const shape& data, std::size_t batch);

} // namespace sluice::ops
