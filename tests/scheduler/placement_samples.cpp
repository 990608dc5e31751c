#include "tests/scheduler/placement_samples.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::test {

namespace {

/// Uniform in [0, 1), the same with every standard library.
double uniform(std::mt19937& random) {
  return static_cast<double>(random()) / 4294967296.0;
}

double between(std::mt19937& random, double low, double high) {
  return low * std::pow(high / low, uniform(random));
}

} // namespace

placement_problem random_problem(const sample_shape& shape, unsigned seed) {
  std::mt19937 random{seed};
  placement_problem p;
  for (std::size_t d = 0; d < shape.devices; ++d)
    p.devices.push_back({.name = d == 0 ? "cpu:0" : "sim:" + std::to_string(d - 1), .lanes = shape.lanes});
  for (std::uint32_t from = 0; from < shape.devices; ++from)
    for (std::uint32_t to = 0; to < shape.devices; ++to)
      if (from != to)
        p.links.push_back({from, to, shape.bytes_per_ns, 1000, 1});
  std::vector<std::uint32_t> made{add_feed(p, 100'000)};
  std::vector<bool> read{true};
  for (std::size_t s = 0; s < shape.steps; ++s) {
    const auto on_cpu = between(random, 1e3, 1e5);
    std::vector<double> times(shape.devices, on_cpu);
    const auto cpu_only = uniform(random) < shape.cpu_only;
    for (std::size_t d = 1; d < shape.devices; ++d)
      times[d] = cpu_only ? placement_problem::no_kernel
                          : on_cpu / shape.speed * between(random, 0.5, 2) + (shape.speed > 1 ? 500 : 0);
    std::vector<std::uint32_t> inputs;
    for (auto count = 1 + random() % 3; count > 0; --count) {
      const auto back = 1 + random() % std::min<std::size_t>(shape.branches, made.size());
      inputs.push_back(made[made.size() - back]);
      read[made.size() - back] = true;
    }
    const auto bytes = static_cast<std::size_t>(between(random, 1e3, 1e6));
    made.push_back(add_step(p, "step" + std::to_string(s), times, std::move(inputs), bytes));
    read.push_back(false);
    if (shape.weight_bytes > 0) {
      p.constants.push_back({"weight" + std::to_string(s), random() % shape.weight_bytes});
      p.steps.back().constants = {static_cast<std::uint32_t>(p.constants.size() - 1)};
    }
  }
  for (std::size_t i = 0; i < made.size(); ++i)
    if (!read[i])
      p.values[made[i]].result_on = 0;
  return p;
}

placement_problem two_devices() {
  placement_problem p;
  p.devices = {{.name = "cpu:0"}, {.name = "sim:0"}};
  p.links = {{.from = 0, .to = 1}, {.from = 1, .to = 0}};
  return p;
}

std::uint32_t add_step(placement_problem& problem, std::string name, std::vector<double> time_ns,
                       std::vector<std::uint32_t> inputs, std::size_t bytes) {
  const auto made = static_cast<std::uint32_t>(problem.values.size());
  problem.values.push_back({.name = name + "_out", .bytes = bytes, .fed_on = {}, .result_on = {}});
  problem.steps.push_back({.name = std::move(name),
                           .time_ns = std::move(time_ns),
                           .inputs = std::move(inputs),
                           .outputs = {made}});
  return made;
}

std::uint32_t add_feed(placement_problem& problem, std::size_t bytes) {
  problem.values.push_back({.name = "feed", .bytes = bytes, .fed_on = 0, .result_on = {}});
  return static_cast<std::uint32_t>(problem.values.size() - 1);
}

} // namespace sluice::test
