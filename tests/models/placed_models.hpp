#pragma once

#include <sluice/devices/sim_options.hpp>
#include <sluice/graph/shape.hpp>
#include <sluice/scheduler/plan_placement.hpp>

#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

/// A model that is placed on a CPU and a simulated accelerator.
struct placed_model {
  std::string file;
  shape input;
};

/// The models of image classification and of reading text, as far as they are asked for by name.
[[nodiscard]] std::vector<placed_model> placed_models();

/// Its plan for one thread of the CPU.
[[nodiscard]] std::shared_ptr<const plan> plan_of(const placed_model& m);

/// An accelerator ten times as fast as the CPU behind a link of 10 GB/s.
[[nodiscard]] sim_options accelerator();

/// The CPU without a limit, and that accelerator with so many bytes.
[[nodiscard]] std::vector<described_device> cpu_and_accelerator(std::size_t budget);

/// What the accelerator would hold if it did everything; with `kept`, values stay there to the end.
[[nodiscard]] std::size_t need_of(const plan& p, bool kept = false);

/// When everything is done if the placement is carried out by simulated devices in virtual time: the CPU is
/// one, too, of rate 1. Each does its steps in the placement's order, as soon as their inputs are there.
[[nodiscard]] double simulated_finish(const placement_problem& problem, const made_placement& made);

} // namespace sluice::test
