#pragma once

#include <sluice/graph/tensor.hpp>
#include <sluice/graph/value_type.hpp>

#include <span>

namespace sluice {

/// Slice `index` of a tensor along `axis`, that axis removed. Without a copy where the axis is the first.
[[nodiscard]] value slice_at(const value& whole, std::size_t axis, std::int64_t index, memory& from);

/// Tensors of one type and shape as one, along a new axis; `empty_type` says what none of them would give
/// (unknown extents count as 0). Throws errc::kernel_failed if they differ in type or shape.
[[nodiscard]] value stack(std::span<const value> items, std::size_t axis, bool reversed,
                          const value_type& empty_type, memory& from);

} // namespace sluice
