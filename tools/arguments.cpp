#include <tools/arguments.hpp>

#include <tools/command/commands.hpp>
#include <tools/console.hpp>
#include <tools/feeds/numbers.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <map>

namespace sluice::tools {

namespace {

constexpr const char* exit_codes = "Exit status:\n"
                                   "  0  it went well\n"
                                   "  1  a run, a test or a comparison failed\n"
                                   "  2  an option, or an input's name, type or shape, is wrong\n"
                                   "  3  a file cannot be read, written or understood\n"
                                   "  4  the model needs what Sluice does not have\n";

using action = std::function<exit_code()>;

void add_dims(CLI::App& app, dim_values& dims) {
  const auto take = [&dims](const std::vector<std::string>& texts) {
    for (const auto& text : texts) {
      const auto at = text.find('=');
      if (at == std::string::npos || at == 0)
        throw CLI::ValidationError{"--dim", "'" + text + "' is not like N=8"};
      const auto extent = parse_integer(text.substr(at + 1), "an extent");
      if (extent < 0)
        throw CLI::ValidationError{"--dim", "'" + text + "' is negative"};
      dims[text.substr(0, at)] = extent;
    }
  };
  app.add_option_function<std::vector<std::string>>("--dim", take,
                                                    "Extent of a symbol of the model, as N=8; 1 by default")
      ->type_name("SYMBOL=N")
      ->allow_extra_args(false);
}

void add_inputs(CLI::App& app, std::vector<std::string>& inputs, input_options& o) {
  app.add_option(
         "-i,--input", inputs,
         std::string{
             "Value of an input, NAME=SOURCE (SOURCE alone for the only input; FILE.npz alone for all). "
             "SOURCE is "} +
             source_help())
      ->type_name("NAME=SOURCE")
      ->allow_extra_args(false);
  add_dims(app, o.dims);
  app.add_option("--seed", o.seed, "Of random inputs that name none");
  app.add_option("--scale", o.scale, "Factor for picture samples of 0 to 255 (1/255; 1 for integer inputs)");
  app.add_option("--mean", o.mean, "Subtracted from scaled pictures: one number, or one a channel")
      ->delimiter(',');
  app.add_option("--deviation", o.deviation, "Divides pictures after --mean: one number, or one a channel")
      ->delimiter(',');
  app.add_option("--rate", o.rate, "Samples a second that sound files must have")->check(CLI::PositiveNumber);
}

void add_execution(CLI::App& app, execution_options& o) {
  const auto both = [&o](unsigned n) { o.intra_op_threads = o.inter_op_threads = n; };
  app.add_option_function<unsigned>("--threads", both, "Sets --intra and --inter; 0: the system picks")
      ->trigger_on_parse();
  app.add_option("--intra", o.intra_op_threads, "Threads that may join one firing; 0: the system picks");
  app.add_option("--inter", o.inter_op_threads, "Firings that run at once; 0: the system picks");
}

void add_trace(CLI::App& app, execution_options& o) {
  app.add_option("--trace", o.trace, "Write a trace for Chrome's or Perfetto's viewer")->type_name("FILE");
}

CLI::App& add_command(CLI::App& app, const char* name, const char* what, action& chosen, action carry_out) {
  auto& sub = *app.add_subcommand(name, what);
  sub.fallthrough();
  sub.footer(exit_codes);
  sub.final_callback([&chosen, carry_out = std::move(carry_out)] { chosen = carry_out; });
  return sub;
}

void add_model(CLI::App& sub, std::string& model) {
  sub.add_option("model", model, "An ONNX model file")->type_name("FILE")->required();
}

void add_run(CLI::App& app, run_arguments& a, action& chosen) {
  auto& sub = add_command(app, "run", "Run a model on inputs and show or write its outputs", chosen,
                          [&a] { return run(a); });
  add_model(sub, a.model);
  add_inputs(sub, a.inputs, a.input);
  sub.add_option("-o,--output", a.outputs,
                 "Write an output, NAME=FILE (FILE alone for the only output; FILE.npz alone for all): "
                 ".npy, .npz, .csv, .pb, .png; nothing is printed then")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  sub.add_option("--fetch", a.fetch,
                 "A value of the graph to compute in place of the outputs; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  sub.add_option("--repeat", a.repeat, "Run so many times; the last results count")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub.add_option("--top", a.print.top, "How many of the greatest elements of a large output are shown")
      ->capture_default_str();
  sub.add_option("--all-up-to", a.print.all_up_to, "Outputs of more elements are summarised")
      ->capture_default_str();
  add_execution(sub, a.execution);
  add_trace(sub, a.execution);
}

void add_inspect(CLI::App& app, inspect_arguments& a, action& chosen) {
  auto& sub = add_command(app, "inspect", "Show what a model is: inputs, outputs, operators, weights, cost",
                          chosen, [&a] { return inspect(a); });
  add_model(sub, a.model);
  add_dims(sub, a.dims);
  sub.add_flag("--nodes", a.nodes, "List every node with its estimated cost");
  sub.add_option("--dot", a.dot, "Write the graph in Graphviz's language")->type_name("FILE");
  sub.add_option("--svg", a.svg, "Write the graph as a picture; needs Graphviz's program dot")
      ->type_name("FILE");
}

void add_bench(CLI::App& app, bench_arguments& a, action& chosen) {
  auto& sub =
      add_command(app, "bench", "Measure latency and throughput of a model; inputs are random by default",
                  chosen, [&a] { return bench(a); });
  add_model(sub, a.model);
  add_inputs(sub, a.inputs, a.input);
  sub.add_option("--warm-up", a.warm_up, "Runs that are not measured, first")->capture_default_str();
  sub.add_option("--runs", a.runs, "Measure so many runs, whatever time they take");
  sub.add_option("--seconds", a.seconds, "Measure for so long")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  auto* callers = sub.add_option("--callers", a.callers,
                                 "Threads that run the model at the same time, each waiting for its result")
                      ->check(CLI::Range(1, 1024))
                      ->capture_default_str();
  sub.add_option("--in-flight", a.in_flight, "Keep so many asynchronous runs under way instead")
      ->check(CLI::Range(1, 1024))
      ->excludes(callers);
  sub.add_option("--json", a.json, "Write the results as JSON; - is standard output")->type_name("FILE");
  add_execution(sub, a.execution);
  add_trace(sub, a.execution);
}

void add_test(CLI::App& app, test_arguments& a, action& chosen) {
  auto& sub = add_command(app, "test",
                          "Run tests in ONNX's layout: folders with model.onnx and "
                          "test_data_set_N/{input,output}_M.pb, at any depth",
                          chosen, [&a] { return test(a); });
  sub.add_option("folders", a.folders, "Folders of tests")->type_name("DIR")->required();
  sub.add_option("--rtol", a.allowed.relative, "Relative tolerance")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub.add_option("--atol", a.allowed.absolute, "Absolute tolerance")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub.add_option("-j,--jobs", a.jobs, "Tests at a time")->check(CLI::Range(1, 1024))->capture_default_str();
  sub.add_flag("-v,--verbose", a.verbose, "A line for every test, not only for those that fail");
  sub.add_option("--json", a.json, "Write a list of {name, status, reason}; - is standard output")
      ->type_name("FILE");
  add_execution(sub, a.execution);
}

void add_operators(CLI::App& app, operators_arguments& a, action& chosen) {
  auto& sub = add_command(app, "operators", "List the operators that models may use", chosen,
                          [&a] { return operators(a); });
  sub.add_flag("--markdown", a.markdown, "As docs/operators.md");
}

} // namespace

exit_code run_command_line(int argc, const char* const* argv) {
  CLI::App app{"Sluice runs dataflow graphs as actors.", "sluice"};
  app.set_version_flag("--version", "sluice " SLUICE_VERSION);
  app.footer(exit_codes);
  app.require_subcommand(1);
  const auto level = [](const std::string& word) {
    const std::map<std::string, log_level> levels{{"error", log_level::error},
                                                  {"warning", log_level::warning},
                                                  {"info", log_level::info},
                                                  {"debug", log_level::debug}};
    set_log_level(levels.at(word));
  };
  app.add_option_function<std::string>("--log-level", level, "What is said on standard error")
      ->check(CLI::IsMember({"error", "warning", "info", "debug"}))
      ->trigger_on_parse();

  action chosen;
  run_arguments run_with;
  inspect_arguments inspect_with;
  bench_arguments bench_with;
  test_arguments test_with;
  operators_arguments operators_with;
  add_run(app, run_with, chosen);
  add_inspect(app, inspect_with, chosen);
  add_bench(app, bench_with, chosen);
  add_test(app, test_with, chosen);
  add_operators(app, operators_with, chosen);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) { // help or version
    app.exit(e);
    return exit_code::success;
  } catch (const CLI::ParseError& e) {
    std::string sentence = e.what();
    std::replace(sentence.begin(), sentence.end(), '\n', ' ');
    const auto subs = app.get_subcommands();
    throw command_error{exit_code::usage, sentence + " (see sluice " +
                                              (subs.empty() ? "" : subs.front()->get_name() + ' ') +
                                              "--help)"};
  }
  return chosen();
}

} // namespace sluice::tools
