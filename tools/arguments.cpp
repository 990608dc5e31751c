#include <tools/arguments.hpp>

#include <tools/command/commands.hpp>
#include <tools/console.hpp>
#include <tools/feeds/numbers.hpp>
#include <tools/usage.hpp>

#include <functional>
#include <iostream>
#include <map>

namespace sluice::tools {

namespace {

constexpr const char* exit_codes = "Exit status:\n"
                                   "  0  it went well\n"
                                   "  1  a run, a test or a comparison failed, or no placement fits\n"
                                   "  2  an option, or an input's name, type or shape, is wrong\n"
                                   "  3  a file cannot be read, written or understood\n"
                                   "  4  the model needs what Sluice does not have\n"
                                   "  130  Ctrl-C ended it\n";

using action = std::function<exit_code()>;

const std::map<std::string, log_level>& levels() {
  static const std::map<std::string, log_level> words{{"error", log_level::error},
                                                      {"warning", log_level::warning},
                                                      {"info", log_level::info},
                                                      {"debug", log_level::debug}};
  return words;
}

std::string word_of_level(const std::string& text) {
  return levels().contains(text) ? std::string{} : "'" + text + "' is not error, warning, info or debug";
}

std::optional<std::int64_t> extent_in(const std::string& text) try {
  const auto n = parse_integer(text, "an extent");
  return n < 0 ? std::nullopt : std::optional{n};
} catch (const error&) {
  return {};
}

constexpr std::uint64_t any_count = ~std::uint64_t{0};
constexpr std::uint64_t most_threads = 1024;

void add_dims(CLI::App& app, dim_values& dims) {
  const auto take = [&dims](const std::vector<std::string>& texts) {
    for (const auto& text : texts) {
      const auto at = text.find('=');
      const auto extent = at == std::string::npos || at == 0 ? std::nullopt : extent_in(text.substr(at + 1));
      if (!extent)
        throw CLI::ValidationError{"--dim", "'" + text + "' is not like N=8"};
      if (!dims.emplace(text.substr(0, at), *extent).second)
        throw CLI::ValidationError{"--dim", "'" + text.substr(0, at) + "' is given twice"};
    }
  };
  app.add_option_function<std::vector<std::string>>("--dim", take,
                                                    "Extent of a symbol of the model, as N=8; 1 by default")
      ->type_name("SYMBOL=N")
      ->allow_extra_args(false);
}

void add_inputs(CLI::App& app, std::vector<std::string>& inputs, input_options& o) {
  app.add_option("-i,--input", inputs,
                 std::string{"Value of an input, NAME=SOURCE (SOURCE alone for the only input;\n"
                             "FILE.npz alone for all), where SOURCE is\n"} +
                     source_help())
      ->type_name("NAME=SOURCE")
      ->allow_extra_args(false);
  add_dims(app, o.dims);
  app.add_option("--seed", o.seed, "Of random inputs that name none")
      ->type_name("N")
      ->check(whole_number(0, any_count))
      ->capture_default_str();
  app.add_option("--scale", o.scale, "Factor for picture samples of 0 to 255 (1/255; 1 for integer inputs)")
      ->type_name("X")
      ->check(real_number());
  app.add_option("--mean", o.mean,
                 "Subtracted from scaled pictures: one number, or one a channel (0.5,0.4,0.4)")
      ->type_name("X")
      ->check(real_number())
      ->allow_extra_args(false)
      ->delimiter(',');
  app.add_option("--deviation", o.deviation, "Divides pictures after --mean: one number, or one a channel")
      ->type_name("X")
      ->check(real_number(real_range::not_zero))
      ->allow_extra_args(false)
      ->delimiter(',');
  app.add_option("--rate", o.rate, "Samples a second that sound files must have")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000'000));
}

void add_execution(CLI::App& app, execution_options& o) {
  const auto both = [&o](unsigned n) { o.intra_op_threads = o.inter_op_threads = n; };
  const auto add = [](CLI::Option* option) { option->type_name("N")->check(whole_number(0, most_threads)); };
  add(app.add_option_function<unsigned>(
      "--threads", both, "Sets --intra and --inter; 0: the system picks; no more than there are CPUs"));
  add(app.add_option("--intra", o.intra_op_threads, "Threads that may join one firing; 0: the system picks"));
  add(app.add_option("--inter", o.inter_op_threads, "Firings that run at once; 0: the system picks"));
}

void add_devices_options(CLI::App& sub, device_options& o) {
  sub.add_option(
         "--device", o.devices,
         "A device beside the CPU, as sim:0 or sim:0=memory=512MiB,rate=4,bandwidth=12GB/s,latency=10us;\n"
         "may be repeated")
      ->type_name("DEVICE")
      ->allow_extra_args(false);
  sub.add_option("--devices", o.device_files, "Devices from a JSON file")
      ->type_name("FILE")
      ->check(file_name())
      ->allow_extra_args(false);
  sub.add_option(
         "--budget", o.budgets,
         "The most bytes in use on a device, as sim:0=256MiB; auto is what the machine, the container\n"
         "or the device has; may be repeated")
      ->type_name("DEVICE=SIZE")
      ->allow_extra_args(false);
}

/// Where a model's nodes go when it is executed.
void add_placement(CLI::App& sub, execution_options& o) {
  add_devices_options(sub, o.devices);
  sub.add_option("--placement", o.placement, "Rules that say where nodes go (docs/placement.md)")
      ->type_name("FILE")
      ->check(file_name());
  sub.add_flag("--strict", o.strict, "Refuse what rules demand and cannot be kept, instead of moving it");
  sub.add_flag("--log-placement", o.log_placement, "Say on standard error where each node ran, and why");
}

void add_trace(CLI::App& app, execution_options& o) {
  app.add_option("--trace", o.trace, "Write a trace for Chrome's or Perfetto's viewer")
      ->type_name("FILE")
      ->check(file_name());
}

CLI::App& add_command(CLI::App& app, const char* name, const char* what, action& chosen, action carry_out) {
  auto& sub = *app.add_subcommand(name, what);
  sub.fallthrough();
  sub.footer(exit_codes);
  sub.final_callback([&chosen, carry_out = std::move(carry_out)] { chosen = carry_out; });
  return sub;
}

void add_model(CLI::App& sub, std::string& model) {
  sub.add_option("model", model, "An ONNX model file")->type_name("FILE")->check(file_name())->required();
}

void add_run(CLI::App& app, run_arguments& a, action& chosen) {
  auto& sub = add_command(app, "run", "Run a model on inputs and show or write its outputs", chosen,
                          [&a] { return run(a); });
  add_model(sub, a.model);
  add_inputs(sub, a.inputs, a.input);
  sub.add_option("-o,--output", a.outputs,
                 "Write an output, NAME=FILE (FILE alone for the only output; FILE.npz\n"
                 "alone for all): .npy, .npz, .csv, .pb, .png; nothing is printed then")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  sub.add_option("--fetch", a.fetch,
                 "A value of the graph to compute in place of the outputs, as inspect --nodes\n"
                 "names them; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  sub.add_option("--repeat", a.repeat, "Run so many times; the last results count")
      ->type_name("N")
      ->check(whole_number(1, any_count))
      ->capture_default_str();
  sub.add_option("--top", a.print.top, "How many of the greatest elements of a large output are shown")
      ->type_name("N")
      ->check(whole_number(0, any_count))
      ->capture_default_str();
  sub.add_option("--all-up-to", a.print.all_up_to, "Outputs of more elements are summarised")
      ->type_name("N")
      ->check(whole_number(0, any_count))
      ->capture_default_str();
  add_execution(sub, a.execution);
  add_placement(sub, a.execution);
  add_trace(sub, a.execution);
}

void add_inspect(CLI::App& app, inspect_arguments& a, action& chosen) {
  auto& sub = add_command(app, "inspect", "Show what a model is: inputs, outputs, operators, weights, cost",
                          chosen, [&a] { return inspect(a); });
  add_model(sub, a.model);
  add_dims(sub, a.dims);
  sub.add_flag("--nodes", a.nodes, "List every node with its estimated cost");
  sub.add_option("--dot", a.dot, "Write the graph in Graphviz's language")
      ->type_name("FILE")
      ->check(file_name());
  sub.add_option("--svg", a.svg, "Write the graph as a picture; needs Graphviz's program dot")
      ->type_name("FILE")
      ->check(file_name());
}

void add_bench(CLI::App& app, bench_arguments& a, action& chosen) {
  auto& sub =
      add_command(app, "bench", "Measure latency and throughput of a model; inputs are random by default",
                  chosen, [&a] { return bench(a); });
  add_model(sub, a.model);
  add_inputs(sub, a.inputs, a.input);
  sub.add_option("--warm-up", a.warm_up, "Runs that are not measured, first")
      ->type_name("N")
      ->check(whole_number(0, any_count))
      ->capture_default_str();
  auto* runs = sub.add_option("--runs", a.runs, "Measure so many runs, whatever time they take")
                   ->type_name("N")
                   ->check(whole_number(1, any_count));
  sub.add_option("--seconds", a.seconds, "Measure for so long")
      ->type_name("X")
      ->check(real_number(real_range::positive))
      ->excludes(runs)
      ->capture_default_str();
  auto* callers = sub.add_option("--callers", a.callers,
                                 "Threads that run the model at the same time, each waiting for its result")
                      ->type_name("N")
                      ->check(whole_number(1, 1024))
                      ->capture_default_str();
  sub.add_option("--in-flight", a.in_flight, "Keep so many asynchronous runs under way instead")
      ->type_name("N")
      ->check(whole_number(1, 1024))
      ->excludes(callers);
  sub.add_option("--json", a.json, "Write the results as JSON; - is standard output")
      ->type_name("FILE")
      ->check(file_name());
  add_execution(sub, a.execution);
  add_placement(sub, a.execution);
  add_trace(sub, a.execution);
}

void add_test(CLI::App& app, test_arguments& a, action& chosen) {
  auto& sub = add_command(app, "test",
                          "Run tests in ONNX's layout: folders with model.onnx and "
                          "test_data_set_N/{input,output}_M.pb, at any depth",
                          chosen, [&a] { return test(a); });
  sub.add_option("folder", a.folders, "Folders of tests")->type_name("DIR")->check(file_name())->required();
  sub.add_option("--rtol", a.allowed.relative, "Relative tolerance")
      ->type_name("X")
      ->check(real_number(real_range::not_negative))
      ->capture_default_str();
  sub.add_option("--atol", a.allowed.absolute, "Absolute tolerance")
      ->type_name("X")
      ->check(real_number(real_range::not_negative))
      ->capture_default_str();
  sub.add_option("-j,--jobs", a.jobs, "Tests at a time")
      ->type_name("N")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  sub.add_flag("-v,--verbose", a.verbose, "A line for every test, not only for those that fail");
  sub.add_option("--json", a.json, "Write a list of {name, status, reason}; - is standard output")
      ->type_name("FILE")
      ->check(file_name());
  add_execution(sub, a.execution);
}

void add_operators(CLI::App& app, operators_arguments& a, action& chosen) {
  auto& sub = add_command(app, "operators", "List the operators that models may use", chosen,
                          [&a] { return operators(a); });
  sub.add_flag("--markdown", a.markdown, "As docs/operators.md");
}

void add_devices(CLI::App& app, devices_arguments& a, action& chosen) {
  auto& sub = add_command(app, "devices", "List the devices there are, and why others are not", chosen,
                          [&a] { return devices(a); });
  add_devices_options(sub, a.devices);
  sub.add_option("--json", a.json, "Write them as JSON; - is standard output")
      ->type_name("FILE")
      ->check(file_name());
}

void add_plan(CLI::App& app, plan_arguments& a, action& chosen) {
  auto& sub =
      add_command(app, "plan", "Show where a model would run, how long it takes and what memory it needs",
                  chosen, [&a] { return plan(a); });
  auto& o = a.planning;
  add_model(sub, o.model);
  add_dims(sub, o.dims);
  sub.add_option("--shape", o.shapes, "Shape of an input, as x=1x3x224x224; may be repeated")
      ->type_name("INPUT=SHAPE")
      ->allow_extra_args(false);
  add_devices_options(sub, o.devices);
  sub.add_option("--placement", o.placement, "Rules that say where nodes go (docs/placement.md)")
      ->type_name("FILE")
      ->check(file_name());
  sub.add_flag("--strict", o.strict, "Refuse what rules demand and cannot be kept, instead of moving it");
  sub.add_flag("--measure", o.measure, "Measure the model's kernels first, and keep their times");
  sub.add_option("--profile", o.profile,
                 "Kernel times to estimate by, and to add to with --measure; by default the user's own\n"
                 "in $XDG_CACHE_HOME/sluice or ~/.cache/sluice")
      ->type_name("FILE")
      ->check(file_name());
  sub.add_flag("--log-placement", a.log_placement, "Print the decision about every node");
  sub.add_option("--explain", a.explain, "Print the decision about a node, and nothing else; may be repeated")
      ->type_name("NODE")
      ->allow_extra_args(false);
  sub.add_option("--json", a.json, "Write the plan as JSON; - is standard output")
      ->type_name("FILE")
      ->check(file_name());
  sub.add_option("--html", a.html, "Write the plan as a page for a browser")
      ->type_name("FILE")
      ->check(file_name());
  add_execution(sub, o.execution);
}

exit_code parse_and_carry_out(int argc, const char* const* argv) {
  CLI::App app{"Sluice runs dataflow graphs as actors.", "sluice"};
  app.set_version_flag("--version", "sluice " SLUICE_VERSION);
  app.footer(exit_codes);
  app.require_subcommand(1);
  const auto level = [](const std::string& word) { set_log_level(levels().at(word)); };
  app.add_option_function<std::string>(
         "--log-level", level, "What is said on standard error: error, warning (by default), info or debug")
      ->type_name("LEVEL")
      ->check(CLI::Validator{word_of_level, ""});

  action chosen;
  run_arguments run_with;
  inspect_arguments inspect_with;
  bench_arguments bench_with;
  test_arguments test_with;
  operators_arguments operators_with;
  devices_arguments devices_with;
  plan_arguments plan_with;
  add_run(app, run_with, chosen);
  add_inspect(app, inspect_with, chosen);
  add_bench(app, bench_with, chosen);
  add_test(app, test_with, chosen);
  add_operators(app, operators_with, chosen);
  add_devices(app, devices_with, chosen);
  add_plan(app, plan_with, chosen);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) { // help or version
    app.exit(e);
    return exit_code::success;
  } catch (const CLI::ParseError& e) {
    throw command_error{exit_code::usage, usage_sentence(app, e)};
  }
  return chosen();
}

} // namespace

exit_code run_command_line(int argc, const char* const* argv) {
  const auto code = parse_and_carry_out(argc, argv);
  if (!std::cout.flush())
    throw command_error{exit_code::bad_file, "standard output cannot be written"};
  return code;
}

} // namespace sluice::tools
