#pragma once

#include <sluice/graph/export.hpp>
#include <sluice/graph/value.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A table of numbers.
struct table {
  std::vector<std::string> columns; ///< their names, if the first line gave them
  value data;                       ///< float32 [rows, columns]
};

/// Reads comma-separated numbers. The first line is a head if any of its fields is not a number. Fields may
/// be quoted; empty lines are skipped; `nan` and `inf` are numbers.
///
/// Throws errc::io_failed if the file cannot be read, errc::invalid_argument, naming file, line and column,
/// for what is not a number and for lines of different lengths.
[[nodiscard]] SLUICE_API table load_csv(const std::filesystem::path& path, char separator = ',');

/// The same from text; `name` is what errors call it.
[[nodiscard]] SLUICE_API table decode_csv(std::string_view text, const std::string& name,
                                          char separator = ',');

/// A tensor as lines: one a row of its first axis, the other axes flattened; numbers are read back as they
/// were, and complex ones are refused. `columns` becomes the first line if it is not empty.
[[nodiscard]] SLUICE_API std::string encode_csv(const value& v, std::span<const std::string> columns = {});

/// Writes encode_csv() to a file. Throws errc::io_failed.
SLUICE_API void save_csv(const std::filesystem::path& path, const value& v,
                         std::span<const std::string> columns = {});

} // namespace sluice
