#pragma once

#include <chrono>

namespace sluice {

/// How long a request waits for results that callers hold, if it has no deadline of its own.
inline constexpr std::chrono::seconds patience_with_holders{5};

/// More than any wait needs, and little enough to be added to any time.
inline constexpr std::chrono::nanoseconds longest_wait = std::chrono::hours{24 * 365 * 10};

} // namespace sluice
