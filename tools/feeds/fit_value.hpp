#pragma once

#include <sluice/graph/shape.hpp>
#include <sluice/graph/value.hpp>
#include <sluice/graph/value_type.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sluice::tools {

/// Extents for symbols: N=8.
using dim_values = std::map<std::string, std::int64_t, std::less<>>;

/// `s` with its symbols replaced where `dims` names them.
[[nodiscard]] partial_shape bound(const partial_shape& s, const dim_values& dims);

/// `s` with symbols from `dims` and every other unknown extent 1; nullopt if even the rank is unknown.
[[nodiscard]] std::optional<shape> default_shape(const partial_shape& s, const dim_values& dims);

/// A tensor of numbers with the element type and shape that an input wants, where the source says nothing of
/// either (a number on the command line, sound, a table): numbers are converted if each is kept exactly, axes
/// of extent 1 are added, and a single unknown extent takes what is left. What does not fit stays as it is,
/// and the input's own check says why. Throws errc::invalid_argument for a number that the type cannot hold.
[[nodiscard]] value fitted(const value& v, const value_type& wanted);

} // namespace sluice::tools
