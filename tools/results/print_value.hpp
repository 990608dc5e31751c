#pragma once

#include <sluice/graph/value.hpp>

#include <cstddef>
#include <iosfwd>
#include <string_view>

namespace sluice::tools {

struct print_options {
  std::size_t all_up_to = 64; ///< elements; a larger tensor is summarised
  std::size_t top = 5;        ///< how many of its greatest elements a summary shows
};

/// A value as text for people: type and shape, then the elements, a line a row; of a large tensor least,
/// greatest, mean, deviation and the greatest elements with their places.
void print_value(std::ostream& out, std::string_view name, const value& v, const print_options& options = {});

} // namespace sluice::tools
