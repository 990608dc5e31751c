#pragma once

#include <sluice/graph/value.hpp>

#include <tools/feeds/feeds.hpp>

#include <map>
#include <span>
#include <string>
#include <vector>

namespace sluice::tools {

/// Where results go, from `--output` texts: `FILE.npz` for all, `NAME=FILE` for one, `FILE` for the only one.
/// The file's ending says how: .npy, .npz, .csv, .pb, .png.
class output_files {
public:
  /// Throws command_error (usage) for a name that is no output, an unknown ending, or a file without a name
  /// where there are several outputs.
  output_files(std::span<const std::string> texts, std::span<const std::string> outputs);

  [[nodiscard]] bool empty() const noexcept { return targets_.empty(); }

  /// Writes all files. Throws command_error: bad_file if one cannot be written, usage if its format cannot
  /// hold the value.
  void write(const named_values& results) const;

private:
  struct target {
    std::string output; ///< empty: all
    std::string file;
  };
  std::vector<target> targets_;
};

} // namespace sluice::tools
