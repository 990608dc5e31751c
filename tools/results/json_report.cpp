#include <tools/results/json_report.hpp>

#include <sluice/stream/file_bytes.hpp>

#include <nlohmann/json.hpp>

#include <iostream>

namespace sluice::tools {

namespace {

using json = nlohmann::ordered_json;

void write(const std::string& file, const json& j) {
  // Names and reasons may quote bytes of a hostile file that are not UTF-8.
  write_json_text(file, j.dump(2, ' ', false, json::error_handler_t::replace) + '\n');
}

} // namespace

void write_json_text(const std::string& file, const std::string& text) {
  if (file == "-")
    std::cout << text << std::flush;
  else
    write_file(file, text);
}

void write_json(const std::string& file, std::span<const case_result> results) {
  auto list = json::array();
  for (const auto& r : results)
    list.push_back({{"name", r.name}, {"status", to_string(r.status)}, {"reason", r.reason}});
  write(file, list);
}

void write_json(const std::string& file, const bench_result& r) {
  const auto& l = r.latency_us;
  write(file, {{"model", r.model},
               {"intra_op_threads", r.intra_op_threads},
               {"inter_op_threads", r.inter_op_threads},
               {"in_flight", r.in_flight},
               {"runs", r.runs},
               {"seconds", r.seconds},
               {"runs_per_s", r.seconds > 0 ? static_cast<double>(r.runs) / r.seconds : 0.0},
               {"latency_us",
                {{"mean", l.mean},
                 {"min", l.least},
                 {"p50", l.p50},
                 {"p90", l.p90},
                 {"p95", l.p95},
                 {"p99", l.p99},
                 {"max", l.greatest}}}});
}

void write_json(const std::string& file, const device_overview& o) {
  auto devices = json::array();
  for (const auto& d : o.devices) {
    json one{{"name", d.name},
             {"kind", d.kind},
             {"runs_at_once", d.lanes},
             {"memory_bytes", d.memory},
             {"memory_from", d.memory_from}};
    if (!d.level.empty())
      one["instruction_set"] = d.level;
    if (d.rate)
      one["rate"] = *d.rate;
    if (d.bandwidth)
      one["link_bytes_per_s"] = *d.bandwidth;
    if (d.latency_ns)
      one["latency_ns"] = *d.latency_ns;
    devices.push_back(std::move(one));
  }
  auto absent = json::array();
  for (const auto& [kind, why] : o.absent)
    absent.push_back({{"kind", kind}, {"reason", why}});
  write(file, {{"devices", std::move(devices)},
               {"not_usable", std::move(absent)},
               {"kernel_library", o.kernel_library}});
}

} // namespace sluice::tools
