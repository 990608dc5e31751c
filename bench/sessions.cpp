// What sessions cost each other: the time of runs of several models in turn in one process, against the sum
// of the same runs with each model alone.

#include <sluice/sluice.hpp>

#include <tools/feeds/random_value.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <numeric>

using namespace sluice;

namespace {

using clock_type = std::chrono::steady_clock;

/// Ones for every input; a symbolic dimension is 1.
feeds ones_for(const graph& model) {
  feeds inputs;
  for (const auto e : model.inputs()) {
    const auto& edge = model.at_edge(e);
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < edge.type.shape().rank(); ++i)
      extents.push_back(edge.type.shape()[i].known() ? edge.type.shape()[i].extent() : 1);
    inputs.set(edge.name, tools::filled_value(edge.type.element(), shape{extents}, 1));
  }
  return inputs;
}

/// A loaded model and what it is fed.
struct contestant {
  explicit contestant(engine& e, const std::string& file)
    : model(e.load(file)), inputs(ones_for(model.model())) {
    for (int i = 0; i < 3; ++i)
      run();
  }
  void run() { static_cast<void>(model.run(inputs)); }

  session model;
  feeds inputs;
};

double seconds_of(auto&& work) {
  const auto begin = clock_type::now();
  work();
  return std::chrono::duration<double>{clock_type::now() - begin}.count();
}

/// Seconds for `runs` runs of a model that is alone in the process.
double alone(const std::string& file, int runs) {
  engine e;
  contestant c{e, file};
  return seconds_of([&] {
    for (int i = 0; i < runs; ++i)
      c.run();
  });
}

/// Seconds for `runs` runs of each of several models, in turn.
double together(const std::vector<std::string>& files, int runs) {
  engine e;
  std::vector<contestant> all;
  for (const auto& f : files)
    all.emplace_back(e, f);
  return seconds_of([&] {
    for (int i = 0; i < runs; ++i)
      for (auto& c : all)
        c.run();
  });
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

} // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> files;
  int runs = 50, repeats = 9;
  std::string json;
  CLI::App app{"Measures what several sessions of one process, run in turn, cost each other."};
  app.add_option("models", files, "ONNX model files, three for instance")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--runs", runs, "runs of each model in a turn")->check(CLI::Range(1, 1'000'000));
  app.add_option("--repeats", repeats, "turns; the median counts")->check(CLI::Range(1, 1000));
  app.add_option("--json", json, "write the results to this file");
  CLI11_PARSE(app, argc, argv);

  std::vector<double> ratios;
  for (int r = 0; r < repeats; ++r) {
    const auto apart = std::accumulate(files.begin(), files.end(), 0.,
                                       [&](double sum, const auto& f) { return sum + alone(f, runs); });
    const auto shared = together(files, runs);
    ratios.push_back(shared / apart);
    std::printf("turn %d: each alone %.1f ms, in turn in one process %.1f ms, ratio %.3f\n", r + 1,
                apart * 1e3, shared * 1e3, ratios.back());
    std::fflush(stdout);
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("median ratio %.3f (%.3f to %.3f)\n", median(ratios), *least, *most);
  if (!json.empty()) {
    std::ofstream out{json};
    out << nlohmann::json{{"models", files}, {"runs", runs}, {"ratios", ratios}, {"median", median(ratios)}}
               .dump(2)
        << '\n';
    if (!out.flush())
      throw error{errc::io_failed, "cannot write " + json};
  }
  return 0;
} catch (const std::exception& e) {
  std::cerr << "bench_sessions: " << e.what() << '\n';
  return 1;
}
