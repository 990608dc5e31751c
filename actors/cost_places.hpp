#pragma once

#include <sluice/scheduler/described_device.hpp>
#include <sluice/scheduler/node_places.hpp>

#include <span>
#include <string>

namespace sluice {

class placement_file;
struct plan;

/// Where the nodes of `on_host`, a plan for the host alone, go by cost, within the devices' budgets; scopes,
/// rules and groups count more. Nodes that the plan leaves out stay where `places` has them. What is said of
/// each is what was recorded when it was decided. Throws what place_plan() throws.
void place_by_cost(node_places& places, const plan& on_host, std::span<const described_device> devices,
                   const placement_file* rules);

} // namespace sluice
