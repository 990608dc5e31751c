#pragma once

#include <sluice/graph/value.hpp>
#include <sluice/graph/value_type.hpp>

#include <tools/exit_code.hpp>
#include <tools/feeds/fit_value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::tools {

/// A source that gives no value.
class source_error : public command_error {
  using command_error::command_error;
};

/// What the command line says of all inputs.
struct input_options {
  dim_values dims{};              ///< extents for symbols of the model
  std::uint64_t seed = 1;         ///< of random inputs that name none
  std::optional<float> scale{};   ///< of picture samples; by default 1/255, or 1 for integer inputs
  std::vector<float> mean{};      ///< of picture channels
  std::vector<float> deviation{}; ///< of picture channels
  std::optional<int> rate{};      ///< that sound must have
};

/// The value that `source` describes, as near to `wanted` as it can be: a file (.npy, .npz[:KEY], .pb,
/// picture, sound, .pcm, .csv), `random[:SHAPE[:TYPE[:SEED]]]`, `zeros…`, `ones…`, `text:WORDS`, or numbers
/// separated by commas. Throws source_error: exit_code::bad_file for what is wrong in a file,
/// exit_code::usage otherwise.
[[nodiscard]] value load_source(const std::string& source, const value_type& wanted,
                                const input_options& options);

/// What load_source() takes, for --help.
[[nodiscard]] const char* source_help() noexcept;

} // namespace sluice::tools
