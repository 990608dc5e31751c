#pragma once

#include <sluice/graph/error.hpp>
#include <sluice/graph/export.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// The content of a regular file. Throws errc::io_failed, naming the file.
[[nodiscard]] SLUICE_API std::string read_file(const std::filesystem::path& path);

/// Writes `content` to a file, replacing what was there. Throws errc::io_failed, naming the file.
SLUICE_API void write_file(const std::filesystem::path& path, std::string_view content);

/// An errc::invalid_argument about a file: "'x.npy': it is truncated".
[[nodiscard]] SLUICE_API error bad_file(const std::filesystem::path& path, std::string_view what);

} // namespace sluice
