#pragma once

#include "golden.hpp"

#include <cstddef>
#include <vector>

namespace sluice::test {

/// The content of the case's model with the weights that the case says in place of its own: those of an
/// initializer, or of a ConstantOfShape, which goes. Throws errc::invalid_argument if it has no such weight.
[[nodiscard]] std::vector<std::byte> reweighted_model(const golden& g);

} // namespace sluice::test
