#include <tools/command/commands.hpp>

#include <tools/console.hpp>
#include <tools/results/output_files.hpp>
#include <tools/suggestion.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>

namespace sluice::tools {

namespace {

void check_names(const graph& g, std::span<const std::string> fetch) {
  if (fetch.empty())
    return;
  std::vector<std::string> all{g.output_names().begin(), g.output_names().end()};
  for (const auto& e : g.edges())
    all.push_back(e.name);
  for (const auto& name : fetch) {
    if (std::find(all.begin(), all.end(), name) != all.end())
      continue;
    throw command_error{exit_code::usage, "the model has no value '" + name +
                                              "' to fetch (sluice inspect --nodes names them)" +
                                              suggestion(name, all)};
  }
}

named_values run_repeatedly(loaded_model& model, const named_values& feeds, const run_arguments& a) {
  progress line{a.repeat == 1 ? "running" : "runs", a.repeat};
  const auto start = std::chrono::steady_clock::now();
  named_values results;
  for (std::size_t i = 0; i < a.repeat; ++i) {
    results = model.run(feeds, a.fetch);
    line.set(i + 1);
  }
  const auto took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start);
  log(log_level::info, std::to_string(a.repeat) + (a.repeat == 1 ? " run in " : " runs in ") +
                           std::to_string(took.count()) + " ms");
  return results;
}

} // namespace

exit_code run(const run_arguments& a) {
  loaded_model model{a.model, a.execution};
  const auto& g = model.graph();
  check_names(g, a.fetch);
  auto names = a.fetch;
  if (names.empty())
    names.assign(g.output_names().begin(), g.output_names().end());
  const output_files files{a.outputs, names};
  const auto feeds = load_feeds(g, a.inputs, a.input, missing_input::refuse);

  const auto results = run_repeatedly(model, feeds, a);
  model.report();
  files.write(results);
  if (files.empty())
    for (const auto& name : names)
      print_value(std::cout, name, results.at(name), a.print);
  return exit_code::success;
}

} // namespace sluice::tools
