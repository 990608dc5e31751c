#pragma once

#include <sluice/scheduler/lifetimes.hpp>

namespace sluice {

/// Where blocks lie in an arena.
struct arena_packing {
  std::vector<std::uint64_t> offsets; ///< by block, in units
  std::uint64_t units = 0;            ///< the arena
};

/// Places blocks so that no two that may be alive at once overlap, in an arena as small as it finds: first
/// fit in several orders, the best of them improved by local search until the arena has `least` units or the
/// effort is spent. The same input gives the same packing.
[[nodiscard]] SLUICE_API arena_packing pack(const lifetimes& l, std::uint64_t least);

} // namespace sluice
