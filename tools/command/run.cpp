#include <tools/command/commands.hpp>

#include <tools/console.hpp>
#include <tools/results/output_files.hpp>

#include <iostream>

namespace sluice::tools {

exit_code run(const run_arguments& a) {
  loaded_model model{a.model, a.execution};
  const auto& g = model.graph();
  auto names = a.fetch;
  if (names.empty())
    names.assign(g.output_names().begin(), g.output_names().end());
  const output_files files{a.outputs, names};
  const auto feeds = load_feeds(g, a.inputs, a.input, missing_input::refuse);

  named_values results;
  progress line{"runs", a.repeat};
  for (std::size_t i = 0; i < a.repeat; ++i) {
    results = model.run(feeds, a.fetch);
    line.set(i + 1);
  }
  model.write_trace();
  files.write(results);
  if (files.empty())
    for (const auto& name : names)
      print_value(std::cout, name, results.at(name), a.print);
  if (!std::cout.flush())
    throw command_error{exit_code::bad_file, "standard output cannot be written"};
  return exit_code::success;
}

} // namespace sluice::tools
