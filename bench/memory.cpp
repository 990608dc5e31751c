// What loading and running a model adds to the memory of a process. The script bench/memory compares it with
// ONNX Runtime.

#include <sluice/sluice.hpp>

#include <tools/feeds/feeds.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>
#include <string>

using namespace sluice;

namespace {

/// A line of /proc/self/status, in bytes.
std::size_t status(const std::string& name) {
  std::ifstream file{"/proc/self/status"};
  std::string word;
  while (file >> word)
    if (word == name + ':') {
      std::size_t kilobytes = 0;
      file >> kilobytes;
      return kilobytes * 1024;
    }
  throw std::runtime_error{"/proc/self/status has no " + name};
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{"Tells what loading and running a model adds to the memory of the process, in bytes."};
  std::string file, inputs;
  unsigned threads = 1;
  int runs = 5;
  app.add_option("model", file, "an ONNX model")->required();
  app.add_option("inputs", inputs, "an .npz file with an array for each input")->required();
  app.add_option("--threads", threads, "threads");
  app.add_option("--runs", runs, "runs");
  CLI11_PARSE(app, argc, argv);
  try {
    const auto before = status("VmRSS");
    engine e{{.cpu_budget = threads}};
    auto s = e.load(file);
    feeds given;
    for (auto& [name, v] :
         tools::load_feeds(s.model(), std::vector{inputs}, {}, tools::missing_input::refuse))
      given.set(name, std::move(v));
    for (int i = 0; i < runs; ++i)
      static_cast<void>(s.run(given));
    std::cout << nlohmann::json{{"resident", status("VmRSS") - before},
                                {"peak", status("VmHWM") - before},
                                {"ledger_peak", e.memory_peak()}}
              << '\n';
  } catch (const std::exception& problem) {
    std::cerr << "bench_memory: " << problem.what() << '\n';
    return 1;
  }
}
