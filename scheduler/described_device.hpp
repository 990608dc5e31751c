#pragma once

#include <sluice/devices/operator_library.hpp>
#include <sluice/graph/export.hpp>
#include <sluice/graph/graph.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>

namespace sluice {

class device;
struct device_spec;

/// A device as placement sees it: what it can do, not how.
struct described_device {
  std::string name;   ///< "cpu:0" is the host; other CPU devices share its memory
  unsigned lanes = 1; ///< steps that it executes at once
  std::size_t budget = std::numeric_limits<std::size_t>::max(); ///< bytes
  double rate = 1;                                              ///< arithmetic, relative to the host's CPU
  double bandwidth = 0;                ///< of its link to the host, each way, bytes per second; 0: no limit
  std::chrono::nanoseconds latency{0}; ///< of one copy over that link
  /// Whether it has a kernel for a node; empty: for all that the host has. Asked only about nodes with an
  /// operator whose values are tensors of known shapes, since all others execute on the host.
  std::function<bool(const graph::node&)> has_kernel{};
};

/// The host's CPU.
/// @param lanes  firings that run at once
[[nodiscard]] SLUICE_API described_device
describe_host(unsigned lanes, std::size_t budget = std::numeric_limits<std::size_t>::max());

/// A device that was asked for in text: "sim" and "cpu" are known kinds. A CPU has the options `threads`, its
/// lanes, and `memory`. Throws errc::unsupported for other kinds, errc::invalid_argument for options that
/// make no sense, naming the device.
[[nodiscard]] SLUICE_API described_device describe(const device_spec& d,
                                                   std::shared_ptr<const operator_library> operators);

/// A device that is there. A simulated one has the kernels of the CPU, others those of their kind.
[[nodiscard]] SLUICE_API described_device describe(const device& d,
                                                   std::shared_ptr<const operator_library> operators);

} // namespace sluice
