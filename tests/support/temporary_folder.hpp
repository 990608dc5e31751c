#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace sluice::test {

/// A folder that goes with the test.
class temporary_folder {
public:
  temporary_folder() {
    auto name = (std::filesystem::temp_directory_path() / "sluice-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw std::filesystem::filesystem_error{"no temporary folder", std::error_code{}};
    path_ = name;
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

} // namespace sluice::test
