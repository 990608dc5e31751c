#pragma once

#include <sluice/graph/error.hpp>
#include <sluice/graph/export.hpp>

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace sluice {

/// The content of a regular file. Throws errc::io_failed, naming the file.
[[nodiscard]] SLUICE_API std::string read_file(const std::filesystem::path& path);

/// Writes `content` to a file, replacing what was there. Throws errc::io_failed, naming the file; then
/// nothing half written is left.
SLUICE_API void write_file(const std::filesystem::path& path, std::string_view content);

/// The same with what `content` puts into the stream. What it throws itself is thrown on.
SLUICE_API void write_file(const std::filesystem::path& path,
                           const std::function<void(std::ostream&)>& content);

/// An errc::invalid_argument about a file: "'x.npy': it is truncated".
[[nodiscard]] SLUICE_API error bad_file(const std::filesystem::path& path, std::string_view what);

} // namespace sluice
