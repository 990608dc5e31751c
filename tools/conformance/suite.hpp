#pragma once

#include <tools/conformance/onnx_case.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sluice::tools {

struct suite_options {
  unsigned jobs = 1; ///< cases at a time
  tolerance allowed{};
  std::function<void(std::size_t)>
      done{}; ///< called, on any thread, with the number of cases that have ended
};

/// Runs cases, several at a time; the results are in the order of the cases.
[[nodiscard]] std::vector<case_result> run_suite(std::span<const onnx_case> cases,
                                                 const std::shared_ptr<const op_registry>& operators,
                                                 const graph_opener& open, const suite_options& options = {});

/// Operators that stand in the way of unsupported cases, with how many cases each.
[[nodiscard]] std::map<std::string, std::size_t> missing_operators(std::span<const case_result> results);

} // namespace sluice::tools
