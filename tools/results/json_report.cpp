#include <tools/results/json_report.hpp>

#include <sluice/stream/file_bytes.hpp>

#include <nlohmann/json.hpp>

#include <iostream>

namespace sluice::tools {

namespace {

using json = nlohmann::ordered_json;

void write(const std::string& file, const json& j) {
  // Names and reasons may quote bytes of a hostile file that are not UTF-8.
  const auto text = j.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
  if (file == "-")
    std::cout << text << std::flush;
  else
    write_file(file, text);
}

} // namespace

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

} // namespace sluice::tools
