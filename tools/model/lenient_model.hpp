#pragma once

#include <sluice/graph/onnx_import.hpp>

#include <filesystem>
#include <memory>
#include <vector>

namespace sluice::tools {

/// A model that can be looked at even if it cannot be run.
struct lenient_model {
  onnx_model model;
  std::vector<unsupported_operator>
      missing; ///< operators of it that are not known; their outputs have unknown types
};

/// Reads a model with operators that `known` lacks in it. Throws `error` for everything else that is wrong
/// with it.
[[nodiscard]] lenient_model read_leniently(const std::filesystem::path& file,
                                           const std::shared_ptr<const op_registry>& known);

} // namespace sluice::tools
