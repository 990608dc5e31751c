#pragma once

#include <sluice/scheduler/placement_problem.hpp>

#include <random>

namespace sluice::test {

/// What random problems look like.
struct sample_shape {
  std::size_t steps = 10;
  std::size_t devices = 2;      ///< cpu:0, then sim:0, sim:1, …
  double speed = 10;            ///< of the others, against the CPU's
  double bytes_per_ns = 10;     ///< of all links
  double cpu_only = 0.1;        ///< part of the steps without a kernel elsewhere
  unsigned lanes = 1;           ///< of each device
  unsigned branches = 3;        ///< how far back inputs reach
  std::size_t weight_bytes = 0; ///< up to so much a step
};

/// A random problem: each step makes a value of 1 kB to 1 MB, takes 1 to 100 us on the CPU and reads one to
/// three of those before it; one is fed and results are wanted on the CPU.
[[nodiscard]] placement_problem random_problem(const sample_shape& shape, unsigned seed);

/// Two devices, one link each way: bytes_per_ns 1, no latency; no steps yet.
[[nodiscard]] placement_problem two_devices();

/// A step that reads and makes values; `made` is a new value of so many bytes. Answers the value.
std::uint32_t add_step(placement_problem& problem, std::string name, std::vector<double> time_ns,
                       std::vector<std::uint32_t> inputs, std::size_t bytes);
/// A value that is fed on device 0.
std::uint32_t add_feed(placement_problem& problem, std::size_t bytes);

} // namespace sluice::test
