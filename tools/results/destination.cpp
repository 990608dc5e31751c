#include <tools/results/destination.hpp>

#include <tools/exit_code.hpp>

#include <cerrno>
#include <cstring>

#include <unistd.h>

namespace sluice::tools {

void check_destination(const std::filesystem::path& file) {
  const auto refuse = [&](int why) -> command_error {
    return {exit_code::bad_file, "'" + file.string() + "' cannot be written: " + std::strerror(why)};
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    throw refuse(EISDIR);
  const auto exists = std::filesystem::exists(file, ignored);
  auto folder = file.parent_path();
  if (folder.empty())
    folder = ".";
  if (access(exists ? file.c_str() : folder.c_str(), exists ? W_OK : W_OK | X_OK) != 0)
    throw refuse(errno);
}

} // namespace sluice::tools
