#pragma once

#include <cstddef>
#include <string>

namespace sluice::tools {

/// Nanoseconds as milliseconds with three digits: "1.250".
[[nodiscard]] std::string ms(double ns);

/// "12.5 MB"
[[nodiscard]] std::string bytes(std::size_t n);

} // namespace sluice::tools
