#pragma once

#include <sluice/graph/value.hpp>

#include <cstdint>
#include <vector>

namespace digits {

/// Images and, where they are known, what they show.
struct images {
  sluice::value pixels;             ///< float32 [N,1,28,28], 0 is paper and 1 is ink
  std::vector<std::uint8_t> labels; ///< empty if they are not known
};

/// `count` images made from `from`, in turn: each turned by up to 10 degrees and shifted by up to 1.5 pixels;
/// the first of each as it is. The same seed gives the same images.
[[nodiscard]] images augmented(const images& from, std::int64_t count, std::uint64_t seed);

} // namespace digits
