#include <tools/command/commands.hpp>

#include <tools/feeds/numbers.hpp>
#include <tools/results/json_report.hpp>
#include <tools/results/table.hpp>

#include <sluice/devices/cpu_level.hpp>
#include <sluice/devices/cpu_threads.hpp>
#include <sluice/devices/usable_memory.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/described_device.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace sluice::tools {

namespace {

device_report host(const memory_limit& limit) {
  return {.name = "cpu:0",
          .kind = "cpu",
          .lanes = usable_cpus(),
          .memory = limit.bytes,
          .memory_from = limit.from,
          .level = "x86-64-" + std::string{to_string(active_cpu_level())}};
}

/// Kinds that are known of and cannot be used here, with the reason.
std::vector<std::pair<std::string, std::string>> absent_kinds() {
  std::error_code ignored;
  const auto driver = std::filesystem::exists("/proc/driver/nvidia/version", ignored);
  return {{"cuda", driver ? "an NVIDIA driver is there, but this build of Sluice has no CUDA device"
                          : "no NVIDIA driver is loaded, and this build of Sluice has no CUDA device"}};
}

void print(const device_overview& o) {
  table_writer t{{"device", ">memory", "from", ">runs at once", ">rate", ">link", ">latency"}};
  for (const auto& d : o.devices)
    t.row({d.name, readable_bytes(static_cast<double>(d.memory)), d.memory_from, std::to_string(d.lanes),
           d.rate ? readable_count(*d.rate) : "", d.bandwidth ? readable_bytes(*d.bandwidth) + "/s" : "",
           d.latency_ns ? readable_count(*d.latency_ns / 1000) + " us" : ""});
  t.print(std::cout);
  std::cout << "\ncpu:0 computes with " << o.devices.front().level << " instructions and " << o.kernel_library
            << ".\n";
  for (const auto& [kind, why] : o.absent)
    std::cout << kind << " cannot be used: " << why << ".\n";
}

} // namespace

exit_code devices(const devices_arguments& a) {
  const auto limit = usable_memory();
  device_overview all{
      .devices = {host(limit)}, .absent = absent_kinds(), .kernel_library = kernel_library_version()};
  for (const auto& spec : asked_devices(a.devices)) {
    const auto d = describe(spec, standard_operators());
    const auto said = d.budget != std::numeric_limits<std::size_t>::max();
    device_report shown{.name = d.name,
                        .kind = spec.kind,
                        .lanes = d.lanes,
                        .memory = said ? d.budget : limit.bytes,
                        .memory_from = said ? "its options" : limit.from,
                        .level = {}};
    if (spec.kind != "cpu") {
      shown.rate = d.rate;
      shown.bandwidth = d.bandwidth;
      shown.latency_ns = static_cast<double>(d.latency.count());
    }
    if (d.name == "cpu:0")
      all.devices.front() = shown, all.devices.front().level = host(limit).level;
    else
      all.devices.push_back(std::move(shown));
  }
  const auto budgets = asked_budgets(a.devices);
  for (const auto& [name, bytes] : budgets) {
    const auto d = std::find_if(all.devices.begin(), all.devices.end(),
                                [&n = name](const device_report& r) { return r.name == n; });
    if (d == all.devices.end())
      throw command_error{exit_code::usage, "--budget: there is no device '" + name + "'"};
    if (bytes) {
      d->memory = *bytes;
      d->memory_from = "its budget";
    }
  }
  if (a.json != "-")
    print(all);
  if (!a.json.empty())
    write_json(a.json, all);
  return exit_code::success;
}

} // namespace sluice::tools
