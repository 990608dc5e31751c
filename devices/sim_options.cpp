#include <sluice/devices/sim_options.hpp>

#include <sluice/devices/device_list.hpp>
#include <sluice/devices/quantity.hpp>
#include <sluice/graph/error.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

namespace sluice {

namespace {

struct named_option {
  std::string_view name;
  void (*set)(sim_options& o, std::string_view text);
};

unsigned small_count(std::string_view text) {
  return static_cast<unsigned>(parse_count(text, 1'000));
}

std::uint64_t which(std::string_view text) {
  return parse_count(text, std::numeric_limits<std::size_t>::max());
}

constexpr named_option known[] = {
    {"memory", [](auto& o, auto text) { o.memory = parse_bytes(text); }},
    {"rate", [](auto& o, auto text) { o.rate = parse_number(text); }},
    {"memory_bandwidth", [](auto& o, auto text) { o.memory_bandwidth = parse_bandwidth(text); }},
    {"bandwidth", [](auto& o, auto text) { o.bandwidth = parse_bandwidth(text); }},
    {"latency", [](auto& o, auto text) { o.latency = parse_duration(text); }},
    {"copy_engines", [](auto& o, auto text) { o.copy_engines = small_count(text); }},
    {"streams", [](auto& o, auto text) { o.streams = small_count(text); }},
    {"staging", [](auto& o, auto text) { o.staging = parse_bytes(text); }},
    {"fail_allocation", [](auto& o, auto text) { o.failures.allocation = which(text); }},
    {"fail_kernel", [](auto& o, auto text) { o.failures.kernel = which(text); }},
    {"lost_at", [](auto& o, auto text) { o.failures.lost_at = which(text); }},
};

std::string all_names() {
  std::string names;
  for (const auto& k : known)
    names += (names.empty() ? "" : ", ") + std::string{k.name};
  return names;
}

void expect(bool makes_sense, const std::string& device, const char* option, const char* demand) {
  if (!makes_sense)
    throw error{errc::invalid_argument, "device '" + device + "': " + option + " must be " + demand};
}

} // namespace

void check(const sim_options& o, const std::string& device) {
  const auto positive = [](double d) { return std::isfinite(d) && d > 0; };
  expect(o.memory > 0, device, "memory", "more than nothing");
  expect(positive(o.rate), device, "rate", "a positive number");
  expect(positive(o.bandwidth), device, "bandwidth", "a positive number of bytes per second");
  expect(o.memory_bandwidth == 0 || positive(o.memory_bandwidth), device, "memory_bandwidth",
         "a positive number of bytes per second, or 0 for no limit");
  expect(o.latency.count() >= 0 && o.latency <= std::chrono::hours{24}, device, "latency",
         "at least 0 and at most a day");
  expect(o.copy_engines > 0, device, "copy_engines", "at least 1");
  expect(o.streams > 0, device, "streams", "at least 1");
}

sim_options sim_options_of(const device_spec& d) {
  sim_options o;
  for (auto option = d.options.begin(); option != d.options.end(); ++option) {
    const auto& [name, text] = *option;
    const auto refuse = [&, &who = name](const std::string& why) {
      throw error{errc::invalid_argument, detail::called(d) + ": option '" + who + "' " + why};
    };
    const auto k = std::find_if(std::begin(known), std::end(known),
                                [&wanted = name](const auto& n) { return n.name == wanted; });
    if (k == std::end(known))
      refuse("is unknown; there are " + all_names());
    if (std::any_of(d.options.begin(), option, [&wanted = name](const auto& n) { return n.first == wanted; }))
      refuse("is there twice");
    try {
      k->set(o, text);
    } catch (const error& e) {
      refuse(std::string{"cannot be: "} + e.what());
    }
  }
  try {
    check(o, d.name());
  } catch (const error& e) {
    throw error{errc::invalid_argument, (d.origin.empty() ? "" : d.origin + ": ") + e.what()};
  }
  return o;
}

} // namespace sluice
