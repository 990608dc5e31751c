#include <sluice/scheduler/node_places.hpp>

#include <sluice/devices/device_name.hpp>
#include <sluice/scheduler/placement_file.hpp>

#include <algorithm>
#include <map>

namespace sluice {

namespace {

std::string quoted(const std::string& text) {
  return '\'' + text + '\'';
}

class scope_reader {
public:
  scope_reader(const graph& g, std::span<const plan_device> devices, bool strict)
    : graph_(g), devices_(devices), strict_(strict) {
    for (const auto& d : devices)
      names_.push_back(d.name);
  }

  struct place {
    std::uint32_t device = 0;
    std::string why;
  };

  /// @param scope  not empty
  [[nodiscard]] place read(node_index n, const std::string& scope, const std::string& origin) const try {
    const auto meant = find_devices(scope, names_);
    const auto asked = origin + ' ' + quoted(scope);
    if (meant.empty()) {
      if (strict_)
        static_cast<void>(match_devices(scope, names_)); // says which there are
      return {0, asked + ", which names no device here"};
    }
    const auto works =
        std::find_if(meant.begin(), meant.end(), [&](std::uint32_t d) { return devices_[d].lost.empty(); });
    if (works != meant.end())
      return {*works, asked};
    if (strict_)
      throw error{errc::device_lost, asked + ": " + devices_[meant.front()].lost};
    return {0, asked + ", but " + devices_[meant.front()].lost};
  } catch (const error& e) {
    throw error{e.code(), "node " + title(graph_.at(n)) + ": " + e.what()};
  }

private:
  const graph& graph_;
  const std::span<const plan_device> devices_;
  const bool strict_;
  std::vector<std::string> names_;
};

} // namespace

node_places place_by_scope(const graph& g, std::span<const plan_device> devices, const placement_file* rules,
                           bool strict) {
  node_places made;
  made.devices.assign(devices.begin(), devices.end());
  made.device.assign(g.nodes().size(), 0);
  made.why.assign(g.nodes().size(), std::string{node_places::unsaid});
  made.strict = strict;
  const scope_reader reader{g, devices, strict};
  const auto said = rules ? rules->apply(g) : placement_file::outcome{};
  const auto scope_of = [&](node_index n) -> const std::string& {
    return rules ? said.devices[n] : g.at(n).device;
  };
  std::map<std::string, node_index> leaders; // of groups
  for (node_index n = 0; n < g.nodes().size(); ++n) {
    if (scope_of(n).empty())
      continue;
    const auto from_rule = rules && scope_of(n) != g.at(n).device;
    auto at = reader.read(n, scope_of(n), from_rule ? "the placement file says" : "its scope is");
    made.device[n] = at.device;
    made.why[n] = std::move(at.why);
    if (rules && !said.colocations[n].empty())
      leaders.try_emplace(said.colocations[n], n);
  }
  if (!rules)
    return made;
  for (node_index n = 0; n < g.nodes().size(); ++n) {
    const auto leader = leaders.find(said.colocations[n]);
    if (!scope_of(n).empty() || leader == leaders.end())
      continue;
    made.device[n] = made.device[leader->second];
    made.why[n] =
        "colocated with " + quoted(g.at(leader->second).name) + " in group " + quoted(leader->first);
  }
  return made;
}

} // namespace sluice
