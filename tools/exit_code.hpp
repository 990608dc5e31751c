#pragma once

#include <sluice/graph/error.hpp>

#include <stdexcept>
#include <string>

namespace sluice::tools {

/// How the command ends; `sluice --help` lists the same.
enum class exit_code : int {
  success = 0,
  failed = 1,      ///< a run, a test or a comparison failed, or no placement fits
  usage = 2,       ///< an option, an input's name, type or shape is wrong
  bad_file = 3,    ///< a file cannot be read, written or understood
  unsupported = 4, ///< the model needs what Sluice does not have
};

/// What a person is told, and how the command ends because of it.
class command_error : public std::runtime_error {
public:
  command_error(exit_code code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  [[nodiscard]] exit_code code() const noexcept { return code_; }

private:
  exit_code code_;
};

/// How the command ends because of an error of the library.
[[nodiscard]] constexpr exit_code exit_code_of(errc code) noexcept {
  switch (code) {
  case errc::invalid_argument:
    return exit_code::usage;
  case errc::invalid_graph:
  case errc::invalid_model:
  case errc::io_failed:
    return exit_code::bad_file;
  case errc::unsupported:
    return exit_code::unsupported;
  default:
    return exit_code::failed;
  }
}

} // namespace sluice::tools
