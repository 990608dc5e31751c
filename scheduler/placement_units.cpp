#include <sluice/devices/device_name.hpp>
#include <sluice/graph/error.hpp>
#include <sluice/scheduler/placement_units.hpp>

#include <algorithm>
#include <iterator>
#include <map>

namespace sluice {

namespace {

using device_list = std::vector<std::uint32_t>;

[[noreturn]] void refuse(const placement_problem::step& step, const std::string& why) {
  throw error{errc::invalid_argument, "placement: step '" + step.name + "' " + why};
}

device_list both(const device_list& a, const device_list& b) {
  device_list common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return common;
}

class unit_maker {
public:
  unit_maker(const placement_problem& problem, bool strict) : problem_(problem), strict_(strict) {
    for (const auto& device : problem.devices)
      names_.push_back(device.name);
  }

  placement_units make() {
    for (std::uint32_t s = 0; s < problem_.steps.size(); ++s) {
      made_.decisions.emplace_back();
      join(s, allowed(s));
    }
    for (const auto& unit : made_.units)
      for (const auto s : unit.steps)
        if (unit.allowed.size() < own_[s].size() || s != unit.steps.front())
          if (made_.decisions[s].by == placed_by::cost)
            made_.decisions[s].by = placed_by::colocation;
    return std::move(made_);
  }

private:
  /// Where scope and kernels let the step go.
  device_list allowed(std::uint32_t s) {
    const auto& step = problem_.steps[s];
    device_list kernels;
    for (std::uint32_t d = 0; d < problem_.devices.size(); ++d)
      if (step.time_ns[d] != placement_problem::no_kernel)
        kernels.push_back(d);
    if (kernels.empty())
      refuse(step, "has no kernel on any device");
    auto& decision = made_.decisions[s];
    const auto wanted = strict_ ? match_devices(step.scope, names_) : find_devices(step.scope, names_);
    auto possible = both(wanted, kernels);
    if (possible.empty()) {
      if (strict_)
        refuse(step, "has no kernel where its scope '" + step.scope + "' wants it");
      decision.scope_broken = true;
      possible = kernels;
    }
    if (!decision.scope_broken && wanted.size() == 1 && !step.scope.empty())
      decision.by = placed_by::scope;
    else if (possible.size() == 1)
      decision.by = placed_by::only_kernel;
    return possible;
  }

  void join(std::uint32_t s, device_list possible) {
    const auto& step = problem_.steps[s];
    own_.push_back(possible);
    if (!step.colocation.empty()) {
      const auto [group, is_new] =
          groups_.try_emplace(step.colocation, static_cast<std::uint32_t>(made_.units.size()));
      if (!is_new) {
        auto& unit = made_.units[group->second];
        auto common = both(unit.allowed, possible);
        if (!common.empty()) {
          unit.allowed = std::move(common);
          unit.steps.push_back(s);
          made_.unit_of.push_back(group->second);
          return;
        }
        if (strict_)
          refuse(step, "cannot share a device with step '" + problem_.steps[unit.steps.front()].name +
                           "' of its colocation group '" + step.colocation + "'");
        made_.decisions[s].colocation_broken = true;
      }
    }
    made_.unit_of.push_back(static_cast<std::uint32_t>(made_.units.size()));
    made_.units.push_back({{s}, std::move(possible)});
  }

  const placement_problem& problem_;
  const bool strict_;
  std::vector<std::string> names_;
  std::vector<device_list> own_; // by step
  std::map<std::string, std::uint32_t> groups_;
  placement_units made_;
};

} // namespace

placement_units placement_units::make(const placement_problem& problem, bool strict) {
  return unit_maker{problem, strict}.make();
}

} // namespace sluice
