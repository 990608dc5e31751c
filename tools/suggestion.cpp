#include <tools/suggestion.hpp>

#include <algorithm>
#include <vector>

namespace sluice::tools {

namespace {

/// Insertions, deletions, replacements and swaps of neighbours that make one word the other (optimal string
/// alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

} // namespace

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t longest = 200; // the cost is the product of the lengths, and nobody types more
  const std::string* best = nullptr;
  auto least = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const auto& c : candidates) {
    if (word.empty() || word.size() > longest || c.size() > longest)
      continue;
    if (const auto d = distance(word, c); d < least && d < c.size()) {
      best = &c;
      least = d;
    }
  }
  return best ? "; did you mean '" + *best + "'?" : "";
}

} // namespace sluice::tools
