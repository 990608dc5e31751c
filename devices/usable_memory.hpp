#pragma once

#include <sluice/graph/export.hpp>

#include <cstddef>
#include <string>

namespace sluice {

/// How many bytes of the host's memory this process may use, and what says so.
struct memory_limit {
  std::size_t bytes = 0;
  std::string from; ///< "the machine", "the container"
};

/// The least of the machine's memory and the limits of the control groups that this process is in: the budget
/// that `auto` means.
[[nodiscard]] SLUICE_API memory_limit usable_memory();

} // namespace sluice
