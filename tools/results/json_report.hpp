#pragma once

#include <tools/conformance/onnx_case.hpp>
#include <tools/results/latency.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace sluice::tools {

/// What `sluice bench` measured.
struct bench_result {
  std::string model;
  unsigned intra_op_threads = 1;
  unsigned inter_op_threads = 1;
  unsigned in_flight = 1; ///< runs under way at the same time
  std::size_t runs = 0;
  double seconds = 0;
  latency_statistics latency_us{};
};

/// Writes JSON to a file, or to standard output for "-". Throws errc::io_failed.
/// @{
void write_json(const std::string& file,
                std::span<const case_result> results); ///< a list of {name, status, reason}
void write_json(const std::string& file, const bench_result& result);
/// @}

} // namespace sluice::tools
