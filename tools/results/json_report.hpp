#pragma once

#include <tools/conformance/onnx_case.hpp>
#include <tools/results/latency.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

/// A device as `sluice devices` shows it.
struct device_report {
  std::string name;
  std::string kind;
  unsigned lanes = 1;                ///< firings, or streams, that run at once
  std::size_t memory = 0;            ///< the most bytes in use at once
  std::string memory_from;           ///< what says so
  std::string level;                 ///< instruction set; "" where that is not a CPU's
  std::optional<double> rate{};      ///< arithmetic, relative to the CPU; of an accelerator
  std::optional<double> bandwidth{}; ///< bytes per second
  std::optional<double> latency_ns{};
};

/// What `sluice devices` shows; the host comes first.
struct device_overview {
  std::vector<device_report> devices;
  std::vector<std::pair<std::string, std::string>> absent; ///< kinds that are known of, and why not here
  std::string kernel_library;
};

/// Writes JSON to a file, or to standard output for "-". Throws errc::io_failed.
/// @{
void write_json(const std::string& file,
                std::span<const case_result> results); ///< a list of {name, status, reason}
void write_json(const std::string& file, const bench_result& result);
void write_json(const std::string& file, const device_overview& devices);
void write_json_text(const std::string& file, const std::string& text); ///< JSON that is text already
/// @}

} // namespace sluice::tools
