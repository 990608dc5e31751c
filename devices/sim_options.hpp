#pragma once

#include <sluice/graph/export.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice {

struct device_spec;

/// Failures to inject, each once; counted from 1 in the order of the calls, 0 for none.
struct sim_failures {
  std::uint64_t allocation = 0; ///< this allocation of the device's memory throws errc::out_of_memory
  std::uint64_t kernel = 0;     ///< this piece of work fails with errc::kernel_failed instead of running
  std::uint64_t lost_at = 0;    ///< the device is lost when this piece of work or copy begins
};

/// What a simulated device is like.
struct sim_options {
  std::size_t memory = std::size_t{1} << 30;   ///< bytes: the ledger's budget
  double rate = 1;                             ///< arithmetic, relative to one thread of the host's CPU
  double memory_bandwidth = 0;                 ///< bytes per second, for copies on the device; 0: no limit
  double bandwidth = 12e9;                     ///< of the link, each way, bytes per second
  std::chrono::nanoseconds latency{10'000};    ///< of a copy over the link; takes an engine, not the link
  unsigned copy_engines = 2;                   ///< copies that proceed at once
  unsigned streams = 4;                        ///< streams whose work proceeds at once
  std::size_t staging = std::size_t{64} << 20; ///< bytes of the host for transfers
  sim_failures failures{};
};

/// The options of a simulated device that was asked for in text: memory, rate, memory_bandwidth, bandwidth,
/// latency, copy_engines, streams, staging, and the failures fail_allocation, fail_kernel and lost_at, as in
/// sim_options. Throws errc::invalid_argument, naming device and option, for one that is unknown, there twice
/// or without sense.
[[nodiscard]] SLUICE_API sim_options sim_options_of(const device_spec& d);

/// Throws errc::invalid_argument, naming device and option, if an option makes no sense.
SLUICE_API void check(const sim_options& o, const std::string& device);

} // namespace sluice
