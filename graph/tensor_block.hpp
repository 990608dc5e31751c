#pragma once

#include <sluice/graph/export.hpp>

#include <cstddef>

namespace sluice {

/// What a tensor with `bytes` bytes of elements takes of its memory: its header lies there, too.
[[nodiscard]] SLUICE_API std::size_t tensor_block_bytes(std::size_t bytes) noexcept;

} // namespace sluice
