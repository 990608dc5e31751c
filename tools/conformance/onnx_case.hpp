#pragma once

#include <sluice/graph/graph.hpp>

#include <tools/conformance/compare.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::tools {

/// A test in ONNX's layout: a folder with a model and folders `test_data_set_N`, each with `input_M.pb` and
/// `output_M.pb`.
struct onnx_case {
  std::string name; ///< of its folder
  std::filesystem::path model;
  std::vector<std::filesystem::path> data_sets; ///< in the order of their numbers
};

/// The cases in `folder` and all folders below, ordered by path. Throws command_error (bad_file) if there are
/// none or the folder cannot be read.
[[nodiscard]] std::vector<onnx_case> find_cases(const std::filesystem::path& folder);

enum class case_status { passed, failed, unsupported };

[[nodiscard]] std::string_view to_string(case_status s) noexcept;

struct case_result {
  std::string name;
  case_status status = case_status::failed;
  std::string reason{};                         ///< in one sentence, unless it passed
  std::vector<std::string> missing_operators{}; ///< which stand in the way of an unsupported case
};

/// Runs a graph on values for its inputs; returns values for its outputs, in their order.
using graph_runner = std::function<std::vector<value>(std::span<const value> inputs)>;

/// Makes a graph ready to run. May throw, as the runner may.
using graph_opener = std::function<graph_runner(std::shared_ptr<const graph>)>;

/// Loads and runs a case and compares what comes out. Never throws: whatever goes wrong is the result.
/// Results of models with random operators are compared by type and shape alone. @threadsafe if `open` is
[[nodiscard]] case_result run_case(const onnx_case& c, const std::shared_ptr<const op_registry>& operators,
                                   const graph_opener& open, const tolerance& allowed = {});

} // namespace sluice::tools
