#include <sluice/graph/onnx/values.hpp>

#include <sluice/graph/mapped_file.hpp>

#include <algorithm>

namespace sluice::proto {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void outside(const std::string& location) {
  throw error{errc::invalid_model, "external data '" + location + "' is outside the model's folder"};
}

} // namespace

std::shared_ptr<const mapped_file> external_files::open(const std::string& location) {
  if (folder_.empty())
    throw error{errc::invalid_model, "external data '" + location +
                                         "' cannot be read: the model comes from memory, without a folder"};
  if (const auto known = open_.find(location); known != open_.end())
    return known->second;
  const fs::path relative{location};
  if (location.empty() || location.find('\0') != std::string::npos || relative.is_absolute() ||
      std::find(relative.begin(), relative.end(), "..") != relative.end())
    outside(location);
  std::error_code failed;
  const auto root = fs::canonical(folder_, failed);
  const auto path = failed ? fs::path{} : fs::canonical(folder_ / relative, failed);
  if (failed)
    throw error{errc::io_failed, "external data '" + location + "' cannot be read: " + failed.message()};
  // Links have been followed: where they lead must still be inside.
  if (std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first != root.end())
    outside(location);
  return open_[location] = mapped_file::open(path);
}

} // namespace sluice::proto
