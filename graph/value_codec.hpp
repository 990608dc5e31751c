#pragma once

#include <sluice/graph/value.hpp>

#include <span>
#include <string>

namespace sluice {

/// A value as bytes, to be sent to another process: tensors of any element type in plain layout, sequences,
/// maps, optionals, empty values. Throws errc::unsupported for C++ objects, which only their author can write
/// down.
[[nodiscard]] SLUICE_API std::string encode(const value& v);

/// Whether encode() can write it.
[[nodiscard]] SLUICE_API bool encodable(const value& v);

/// The value that encode() wrote. Throws errc::invalid_argument for anything else, without allocating more
/// than a multiple of the input's size.
[[nodiscard]] SLUICE_API value decode(std::string_view bytes);

} // namespace sluice
