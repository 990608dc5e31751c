// What a firing costs: graphs whose nodes forward their first input, against oneTBB's flow graphs and
// Taskflow. All contenders run in turn in this process; medians and ratios are printed.

#include "support/contender.hpp"
#include "support/spin.hpp"

#include <sluice/devices/cpu_threads.hpp>
#include <sluice/graph/error.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>

using namespace sluice::bench;

namespace {

struct settings {
  std::vector<std::string> shapes{"chain", "diamond", "diamonds", "mobilenet"};
  std::vector<unsigned> workers{1, 2};
  std::vector<unsigned> frames{1, 8};
  std::vector<double> work_ns{0, 1000, 10'000, 100'000};
  unsigned repeats = 9;
  double ms_a_turn = 20;
  std::string json;
  bool alone = false;
};

dataflow_shape shape_named(const std::string& name) {
  if (name == "chain")
    return chain(1000);
  if (name == "diamond")
    return diamonds(32, 1);
  if (name == "diamonds")
    return diamonds(32, 30);
  return mobilenet();
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// Runs one setting with all contenders in turn, prints a line each, and appends to `results`.
void measure(const firing_setting& s, const settings& how, nlohmann::json& results) {
  sluice::cpu_threads::process().resize(s.workers);
  std::vector<std::unique_ptr<contender>> all;
  all.push_back(make_sluice(s));
  for (auto make : {make_tbb, make_taskflow}) {
    if (how.alone)
      break;
    for (auto& c : make(s))
      all.push_back(std::move(c));
  }
  std::vector<std::uint64_t> counts;
  for (const auto& c : all) { // warm, and find out how many frames fill a turn
    c->run(s.frames * 2);
    std::uint64_t count = s.frames * 4;
    for (;;) {
      const auto begin = clock::now();
      c->run(count);
      const auto ns = ns_since(begin);
      if (ns > how.ms_a_turn * 5e5 || count > 1'000'000)
        break;
      count *= 2;
    }
    counts.push_back(count);
  }
  std::vector<std::vector<double>> per_frame(all.size());
  for (unsigned r = 0; r < how.repeats; ++r)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto begin = clock::now();
      all[i]->run(counts[i]);
      per_frame[i].push_back(ns_since(begin) / static_cast<double>(counts[i]));
    }
  const auto edges = static_cast<double>(s.shape.edges());
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<double> ratios;
    for (unsigned r = 0; r < how.repeats; ++r)
      ratios.push_back(per_frame[0][r] / per_frame[i][r]);
    const auto ns = median(per_frame[i]);
    std::printf("%-13s workers %u frames %u work %6.0f ns  %-40s %9.1f ns an edge %12.0f frames/s",
                s.shape.name.c_str(), s.workers, s.frames, s.work_ns, all[i]->name().c_str(), ns / edges,
                1e9 / ns);
    if (i > 0)
      std::printf("  sluice takes %.2f of it", median(ratios));
    std::printf("\n");
    std::fflush(stdout);
    results.push_back({{"shape", s.shape.name},
                       {"system", all[i]->name()},
                       {"workers", s.workers},
                       {"frames", s.frames},
                       {"work_ns", s.work_ns},
                       {"ns_per_edge", ns / edges},
                       {"frames_per_s", 1e9 / ns}});
  }
}

} // namespace

int main(int argc, char** argv) try {
  settings how;
  CLI::App app{
      "Measures what a firing costs, against oneTBB's flow graphs and Taskflow, in turn in one process."};
  app.add_option("--shape", how.shapes, "chain, diamond, diamonds, mobilenet")
      ->check(CLI::IsMember({"chain", "diamond", "diamonds", "mobilenet"}))
      ->delimiter(',');
  app.add_option("--workers", how.workers, "threads")->delimiter(',')->check(CLI::Range(1, 512));
  app.add_option("--frames", how.frames, "frames in flight")->delimiter(',')->check(CLI::Range(1, 1024));
  app.add_option("--work", how.work_ns, "nanoseconds of work in each node")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  app.add_option("--repeats", how.repeats, "turns of each contender; the median counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--turn", how.ms_a_turn, "milliseconds that a turn takes at least")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", how.json, "write the results to this file");
  app.add_flag("--alone", how.alone, "leave the peers out, to profile");
  CLI11_PARSE(app, argc, argv);

  auto results = nlohmann::json::array();
  for (const auto& shape : how.shapes)
    for (const auto workers : how.workers)
      for (const auto frames : how.frames)
        for (const auto work : how.work_ns)
          measure({shape_named(shape), workers, frames, work}, how, results);
  if (!how.json.empty()) {
    std::ofstream out{how.json};
    out << results.dump(2) << '\n';
    if (!out.flush())
      throw sluice::error{sluice::errc::io_failed, "cannot write " + how.json};
  }
  return 0;
} catch (const std::exception& e) {
  std::cerr << "bench_firing: " << e.what() << '\n';
  return 1;
}
