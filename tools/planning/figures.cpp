#include <tools/planning/figures.hpp>

#include <tools/feeds/numbers.hpp>

#include <cstdio>

namespace sluice::tools {

std::string ms(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", ns / 1e6);
  return text;
}

std::string bytes(std::size_t n) {
  return readable_bytes(static_cast<double>(n));
}

} // namespace sluice::tools
