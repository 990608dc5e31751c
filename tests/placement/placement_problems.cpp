#include "tests/models/files.hpp"
#include "tests/models/placed_models.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>

// Writes the placements of real models under small budgets, a line of JSON each, for an oracle to judge.

using namespace sluice;
using namespace sluice::test;

namespace {

using json = nlohmann::ordered_json;

json time_of(double ns) {
  return ns == placement_problem::no_kernel ? json{} : json(ns);
}

json problem_json(const placement_problem& p) {
  json all{{"budget", p.devices[1].budget}, {"lanes", {p.devices[0].lanes, p.devices[1].lanes}}};
  for (const auto& l : p.links)
    all["links"].push_back(
        {{"from", l.from}, {"bytes_per_ns", l.bytes_per_ns}, {"latency_ns", l.latency_ns}});
  for (const auto& v : p.values)
    all["values"].push_back(
        {{"bytes", v.bytes}, {"fed", v.fed_on.has_value()}, {"result", v.result_on.has_value()}});
  for (const auto& c : p.constants)
    all["constants"].push_back(c.bytes);
  for (const auto& s : p.steps)
    all["steps"].push_back({{"name", s.name},
                            {"time", {time_of(s.time_ns[0]), time_of(s.time_ns[1])}},
                            {"inputs", s.inputs},
                            {"outputs", s.outputs},
                            {"constants", s.constants},
                            {"scratch", s.scratch_bytes}});
  return all;
}

void write(const placed_model& m, const plan& p, std::size_t need, std::size_t part) {
  const auto start = std::chrono::steady_clock::now();
  const auto placed = place_plan(p, cpu_and_accelerator(need / part));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  const auto& schedule = placed.made.schedule;
  std::cout << json{{"model", m.file},
                    {"part", part},
                    {"placing_ms", took.count()},
                    {"problem", problem_json(placed.described.problem)},
                    {"places", placed.made.places},
                    {"finish_ns", schedule.finish_ns},
                    {"link_bytes", schedule.link_bytes[0] + schedule.link_bytes[1]}}
                   .dump()
            << std::endl;
}

} // namespace

int main(int argc, char** argv) {
  for (const auto& m : placed_models()) {
    const auto wanted = argc < 2 || m.file.find(argv[1]) != std::string::npos;
    if (!wanted || !std::filesystem::exists(asset(m.file)))
      continue;
    const auto p = plan_of(m);
    const auto need = need_of(*p);
    for (const auto part : {std::size_t{2}, std::size_t{4}})
      write(m, *p, need, part);
  }
}
