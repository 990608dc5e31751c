#include <sluice/scheduler/described_device.hpp>

#include <sluice/devices/cpu_threads.hpp>
#include <sluice/devices/device.hpp>
#include <sluice/devices/device_list.hpp>
#include <sluice/devices/device_name.hpp>
#include <sluice/devices/quantity.hpp>
#include <sluice/devices/sim_options.hpp>
#include <sluice/graph/error.hpp>

#include <algorithm>

namespace sluice {

namespace {

std::function<bool(const graph::node&)> kernels_of(std::string kind,
                                                   std::shared_ptr<const operator_library> operators) {
  if (kind == "sim")
    kind = "cpu";
  return [kind = std::move(kind), operators = std::move(operators)](const graph::node& n) {
    return n.schema && operators->kernel(kind, *n.schema);
  };
}

described_device describe_cpu(const device_spec& d) {
  described_device made{.name = d.name(), .lanes = usable_cpus()};
  for (const auto& [option, text] : d.options)
    try {
      if (option == "threads")
        made.lanes = std::max(1U, static_cast<unsigned>(parse_count(text, cpu_threads::max_budget)));
      else if (option == "memory")
        made.budget = parse_bytes(text);
      else
        throw error{errc::invalid_argument, "there is no such option; a CPU has threads and memory"};
    } catch (const error& e) {
      throw error{errc::invalid_argument, detail::called(d) + ": " + option + ": " + e.what()};
    }
  return made;
}

} // namespace

described_device describe_host(unsigned lanes, std::size_t budget) {
  return {.name = "cpu:0", .lanes = std::max(1U, lanes), .budget = budget};
}

described_device describe(const device_spec& d, std::shared_ptr<const operator_library> operators) {
  if (d.kind == "cpu")
    return describe_cpu(d);
  if (d.kind != "sim")
    throw error{errc::unsupported, detail::called(d) + ": this build of Sluice has no devices of kind '" +
                                       d.kind + "'; it has cpu and sim"};
  const auto options = sim_options_of(d);
  return {.name = d.name(),
          .lanes = options.streams,
          .budget = options.memory,
          .rate = options.rate,
          .bandwidth = options.bandwidth,
          .latency = options.latency,
          .has_kernel = kernels_of(d.kind, std::move(operators))};
}

described_device describe(const device& d, std::shared_ptr<const operator_library> operators) {
  const auto& c = d.capacity();
  return {.name = d.name(),
          .lanes = c.streams,
          .budget = c.memory,
          .rate = c.rate,
          .bandwidth = c.bandwidth,
          .latency = c.latency,
          .has_kernel = kernels_of(device_name::parse(d.name()).kind, std::move(operators))};
}

} // namespace sluice
