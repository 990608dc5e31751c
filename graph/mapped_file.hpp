#pragma once

#include <sluice/graph/export.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace sluice {

/// A file's content as read-only memory; the pages come from disk as they are touched.
///
/// The bytes stay valid as long as the object lives. A file that somebody truncates meanwhile ends the
/// process with SIGBUS, as every mapping: model files are replaced by renaming, not by writing into them.
///
/// @threadsafe it never changes.
class SLUICE_API mapped_file {
public:
  /// Throws errc::io_failed, naming the file, if it cannot be read or is not a regular file.
  [[nodiscard]] static std::shared_ptr<const mapped_file> open(const std::filesystem::path& path);

  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

private:
  mapped_file(const std::byte* data, std::size_t size) noexcept : data_(data), size_(size) {}

  const std::byte* data_;
  std::size_t size_;
};

} // namespace sluice
