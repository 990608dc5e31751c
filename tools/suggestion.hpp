#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice::tools {

/// "; did you mean 'x'?" with the candidate that is most like a mistyped word, or nothing if none is.
[[nodiscard]] std::string suggestion(std::string_view word, std::span<const std::string> candidates);

} // namespace sluice::tools
