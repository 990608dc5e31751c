#pragma once

#include <sluice/graph/element_type.hpp>
#include <sluice/graph/shape.hpp>
#include <sluice/graph/value.hpp>

#include <cstdint>

namespace sluice::tools {

/// A tensor made from a seed, the same on every machine: floating-point numbers evenly from -1 to 1, integers
/// from 0 to 9, booleans, and strings "0" to "9".
[[nodiscard]] value random_value(element_type type, const shape& s, std::uint64_t seed);

/// A tensor of zeros or ones (false or true, "0" or "1").
[[nodiscard]] value filled_value(element_type type, const shape& s, int element);

} // namespace sluice::tools
