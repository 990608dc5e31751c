#include <sluice/actors/cost_places.hpp>

#include <sluice/scheduler/plan_placement.hpp>

#include <algorithm>

namespace sluice {

void place_by_cost(node_places& places, const plan& on_host, std::span<const described_device> devices,
                   const placement_file* rules) {
  const auto placed = place_plan(on_host, devices, {.rules = rules, .strict = places.strict});
  for (const auto& step : on_host.steps) {
    const auto n = step.node;
    if (n == no_node)
      continue;
    places.device[n] = placed.device_of[n];
    // "NODE: DEVICE, by cost; …": who asks knows the first two.
    const auto said = placed.explain(on_host, n);
    const auto head = on_host.source->at(n).name.size() + devices[placed.device_of[n]].name.size() + 4;
    places.why[n] = said.substr(std::min(head, said.size()));
  }
}

} // namespace sluice
