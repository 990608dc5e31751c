#pragma once

#include <sluice/devices/device_stream.hpp>
#include <sluice/devices/device_value.hpp>
#include <sluice/devices/kernel.hpp>
#include <sluice/graph/graph.hpp>
#include <sluice/graph/value_type.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// A kernel with all that it works with, to be run by a device. It owns what it reads and writes until the
/// device is done with it.
struct device_piece {
  const graph::node& node; // this and the two that follow belong to the frame's plan
  const prepared_kernel& kernel;
  std::span<const value_type> types;
  intrusive_ptr<memory> account; ///< for what the kernel allocates by itself
  std::vector<value> inputs;
  std::vector<value> outputs; ///< to be written to
  value scratch{};
  unsigned width = 1;
  std::uint64_t random_seed = 0;

  /// Throws what the kernel throws, naming the node.
  void run(const issue_context& here);
};

} // namespace sluice
