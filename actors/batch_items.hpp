#pragma once

#include <sluice/graph/tensor.hpp>

#include <cstddef>
#include <cstdint>

namespace sluice {

/// Rows [first, first + count) of `axis` of a tensor: a view where that is the first axis, or those before it
/// have one row each; otherwise a copy from `from`.
[[nodiscard]] SLUICE_API value rows_of(const value& whole, std::size_t axis, std::int64_t first,
                                       std::int64_t count, memory& from);

/// Whether rows_of() copies.
[[nodiscard]] SLUICE_API bool copies_rows(const shape& whole, std::size_t axis) noexcept;

/// Copies `part` to rows [first, ...) of `axis` of `whole`, which nobody else reads or writes there. Throws
/// errc::invalid_argument where the types do not fit.
SLUICE_API void put_rows(const value& part, const value& whole, std::size_t axis, std::int64_t first);

} // namespace sluice
