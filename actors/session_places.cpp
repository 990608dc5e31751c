// Where the nodes of a session go.

#include <sluice/actors/session_core.hpp>

#include <sluice/scheduler/placement_file.hpp>
#include <sluice/scheduler/plan_placement.hpp>

#include <algorithm>

namespace sluice {

namespace {

/// What was decided about a node, without its name and place.
std::string reason(const std::string& explained) {
  const auto comma = explained.find(", ", explained.find(": "));
  return comma == std::string::npos ? explained : explained.substr(comma + 2);
}

} // namespace

std::vector<described_device> session_core::described_devices(bool keeping) const {
  const auto least = [](const memory_ledger& a, const memory_ledger& b) {
    return std::min(a.budget(), b.budget());
  };
  const auto lanes = std::max(1U, setup_.threads->concurrency() / setup_.intra_op);
  std::vector<described_device> all{describe_host(lanes, least(*ledger_, *setup_.device))};
  for (std::uint32_t d = 1; d < devices_.count(); ++d) {
    const auto& shared = devices_.at(d);
    auto made = shared.accelerator
                    ? describe(*shared.accelerator, setup_.operators)
                    : described_device{.name = shared.name, .lanes = shared.threads->concurrency()};
    made.keeps_values = keeping;
    made.budget = least(*devices_.ledger(d), *shared.ledger);
    all.push_back(std::move(made));
  }
  return all;
}

bool session_core::is_strict() const {
  const auto& rules = setup_.options.placement_rules;
  return rules && rules->strict() ? *rules->strict() : setup_.options.placement == placement::strict;
}

std::shared_ptr<node_places> session_core::scoped_places() {
  const auto& rules = setup_.options.placement_rules;
  const auto& g = *setup_.model;
  const auto scoped = [](const graph::node& n) { return !n.device.empty(); };
  if (devices_.count() == 1 && !rules && std::none_of(g.nodes().begin(), g.nodes().end(), scoped))
    return nullptr;
  std::vector<plan_device> all;
  {
    const std::lock_guard lock{mutex_};
    all = devices_.for_plans();
  }
  auto made = std::make_shared<node_places>(place_by_scope(g, all, rules.get(), is_strict()));
  made->bring = [this](const value& constant, std::uint32_t d) { return devices_.bring(constant, d); };
  return made;
}

std::shared_ptr<const node_places> session_core::places(const plan_request& request, bool keeping) {
  auto made = scoped_places();
  if (devices_.count() == 1 || !setup_.options.place_by_cost)
    return made;
  try {
    place_by_cost(*made, request, keeping);
  } catch (const error& e) {
    if (e.code() != errc::out_of_memory)
      throw;
    // A smaller part of the request may fit: who admits it sees to that.
    std::replace(made->why.begin(), made->why.end(), std::string{node_places::unsaid}, std::string{e.what()});
  }
  return made;
}

void session_core::place_by_cost(node_places& made, plan_request request, bool keeping) {
  auto devices = described_devices(keeping);
  for (std::size_t d = 1; d < devices.size(); ++d)
    if (!made.devices[d].lost.empty())
      devices[d].has_kernel = [](const graph::node&) { return false; };
  request.lanes = 0;
  request.places = nullptr; // a part of a request that was cut has those of the whole
  const auto on_host = sluice::make_plan(setup_.model, constants_, request, *services_.kernels);
  const cost_model costs{setup_.options.kernel_times};
  const auto placed =
      place_plan(*on_host, devices,
                 {.rules = setup_.options.placement_rules.get(), .costs = &costs, .strict = is_strict()});
  for (node_index n = 0; n < made.device.size(); ++n) {
    if (on_host->step_of[n] == plan::no_step || made.why[n] != node_places::unsaid)
      continue;
    made.device[n] = placed.device_of[n];
    made.why[n] = reason(placed.explain(*on_host, n));
  }
}

} // namespace sluice
