#pragma once

#include <sluice/graph/element_type.hpp>
#include <sluice/graph/shape.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

/// What the head of a .npy file says of the array behind it.
struct npy_header {
  element_type type = element_type::undefined;
  char kind = 0;             ///< numpy's: 'f', 'i', 'u', 'b', 'c', 'U' or 'S'
  std::size_t item_size = 0; ///< bytes of an element in the file
  bool swapped = false;      ///< the file has the other byte order
  bool fortran_order = false;
  sluice::shape shape;
  std::size_t data_offset = 0; ///< bytes before the first element
};

/// Reads the head. Throws errc::invalid_argument, with `name` for the file.
[[nodiscard]] npy_header parse_npy_header(std::string_view bytes, const std::string& name);

/// The head of a file with elements of the type `descr` ("<f4") in C order.
[[nodiscard]] std::string make_npy_header(std::string_view descr, const shape& s);

} // namespace sluice
