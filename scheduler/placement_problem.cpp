#include <sluice/devices/device_name.hpp>
#include <sluice/graph/error.hpp>
#include <sluice/scheduler/placement_problem.hpp>

#include <algorithm>
#include <cmath>

namespace sluice {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw error{errc::invalid_argument, "placement: " + what};
}

void check_devices(const placement_problem& p) {
  if (p.devices.empty())
    refuse("there is no device");
  std::vector<std::string> names;
  for (const auto& device : p.devices) {
    if (!device_name::parse(device.name).index)
      refuse("device '" + device.name + "' has no number");
    if (device.lanes == 0)
      refuse("device '" + device.name + "' has no lanes");
    if (std::find(names.begin(), names.end(), device.name) != names.end())
      refuse("device '" + device.name + "' is there twice");
    names.push_back(device.name);
  }
}

void check_links(const placement_problem& p) {
  const auto count = p.devices.size();
  std::vector<bool> there(count * count);
  for (const auto& link : p.links) {
    if (link.from >= count || link.to >= count || link.from == link.to)
      refuse("a link does not join two devices");
    const auto title =
        "the link from '" + p.devices[link.from].name + "' to '" + p.devices[link.to].name + "'";
    if (!(link.bytes_per_ns > 0) || !(link.latency_ns >= 0) || !std::isfinite(link.latency_ns))
      refuse(title + " needs a bandwidth above zero and a latency of at least zero");
    if (link.engines == 0)
      refuse(title + " has no copy engine");
    if (there[link.from * count + link.to])
      refuse(title + " is there twice");
    there[link.from * count + link.to] = true;
  }
  for (std::size_t from = 0; from < count; ++from)
    for (std::size_t to = 0; to < count; ++to)
      if (from != to && !there[from * count + to])
        refuse("there is no link from '" + p.devices[from].name + "' to '" + p.devices[to].name + "'");
}

void check_step(const placement_problem& p, const placement_problem::step& s, std::vector<bool>& made) {
  const auto title = "step '" + s.name + "' ";
  if (s.time_ns.size() != p.devices.size())
    refuse(title + "has " + std::to_string(s.time_ns.size()) + " times for " +
           std::to_string(p.devices.size()) + " devices");
  for (const auto time : s.time_ns)
    if (!(time >= 0))
      refuse(title + "has a time that is negative or not a number");
  for (const auto c : s.constants)
    if (c >= p.constants.size())
      refuse(title + "reads a constant that is not there");
  for (const auto v : s.inputs) {
    if (v >= p.values.size())
      refuse(title + "reads a value that is not there");
    if (!made[v])
      refuse(title + "reads '" + p.values[v].name + "' before it is made");
  }
  for (const auto v : s.outputs) {
    if (v >= p.values.size())
      refuse(title + "makes a value that is not there");
    if (made[v])
      refuse(title + "makes '" + p.values[v].name + "', which is there already");
    made[v] = true;
  }
}

} // namespace

void placement_problem::check() const {
  check_devices(*this);
  check_links(*this);
  std::vector<bool> made(values.size());
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (values[v].fed_on.value_or(0) >= devices.size() || values[v].result_on.value_or(0) >= devices.size())
      refuse("value '" + values[v].name + "' is fed or wanted on a device that is not there");
    made[v] = values[v].fed_on.has_value();
  }
  for (const auto& s : steps)
    check_step(*this, s, made);
  for (std::size_t v = 0; v < values.size(); ++v)
    if (!made[v])
      refuse("nothing makes value '" + values[v].name + "'");
}

} // namespace sluice
