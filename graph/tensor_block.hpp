#pragma once

#include <sluice/graph/element_type.hpp>
#include <sluice/graph/export.hpp>
#include <sluice/graph/shape.hpp>

#include <cstddef>

namespace sluice {

/// What a tensor with `bytes` bytes of elements takes of its memory: its header lies there, too.
[[nodiscard]] SLUICE_API std::size_t tensor_block_bytes(std::size_t bytes) noexcept;

/// What the header alone takes.
[[nodiscard]] SLUICE_API std::size_t tensor_header_bytes() noexcept;

/// The elements of a plain tensor. Throws errc::out_of_memory if they cannot be counted.
[[nodiscard]] SLUICE_API std::size_t tensor_bytes(element_type type, const shape& s);

} // namespace sluice
