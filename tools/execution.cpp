#include <tools/execution.hpp>

#include <tools/console.hpp>
#include <tools/exit_code.hpp>
#include <tools/results/destination.hpp>

#include <sluice/actors/engine.hpp>
#include <sluice/devices/usable_memory.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/placement_file.hpp>
#include <sluice/stream/file_bytes.hpp>

#include <chrono>
#include <iostream>

namespace sluice::tools {

namespace {

session_options options_of(const execution_options& o, std::string name) {
  session_options made{.name = std::move(name),
                       .intra_op_parallelism_threads = o.intra_op_threads,
                       .inter_op_parallelism_threads = o.inter_op_threads,
                       .placement = o.strict ? placement::strict : placement::soft};
  if (!o.placement.empty())
    made.placement_rules = std::make_shared<const placement_file>(placement_file::read(o.placement));
  return made;
}

/// An engine with the devices and budgets that were asked for.
engine_options engine_of(const device_options& o) {
  engine_options made{.devices = asked_devices(o)};
  for (const auto& [device, bytes] : asked_budgets(o))
    if (bytes)
      made.memory_budget[device] = *bytes;
    else if (device.starts_with("cpu:"))
      made.memory_budget[device] = usable_memory().bytes;
  return made;
}

/// "by cost; …", the line of an explanation that says where.
std::string where(const std::string& explanation) {
  const std::string key = "\n  device: ";
  const auto begin = explanation.find(key);
  return begin == std::string::npos
             ? explanation
             : explanation.substr(begin + key.size(), explanation.find('\n', begin + 1) - begin - key.size());
}

feeds feeds_of(const named_values& values) {
  feeds f;
  for (const auto& [name, v] : values)
    f.set(name, v);
  return f;
}

/// What a failed run is to the person who started it: where a plan for the shapes of the inputs cannot be
/// made, the inputs are wrong, not the model, which was loaded.
std::exception_ptr run_failure(const error& e) {
  if (e.code() == errc::invalid_graph)
    return std::make_exception_ptr(command_error{exit_code::usage, e.what()});
  return std::make_exception_ptr(e);
}

} // namespace

struct loaded_model::engine_part {
  engine runtime;
  sluice::session session;

  engine_part(std::shared_ptr<const sluice::graph> g, const execution_options& o, std::string name)
    : runtime(engine_of(o.devices)), session(runtime.load(std::move(g), options_of(o, std::move(name)))) {}
};

loaded_model::loaded_model(const std::filesystem::path& file, const execution_options& options)
  : options_(options) {
  if (!options.trace.empty())
    check_destination(options.trace);
  const progress line{"loading '" + file.string() + "'"};
  const auto start = std::chrono::steady_clock::now();
  model_ = load_onnx_model(file, known_operators());
  engine_ = std::make_unique<engine_part>(model_.graph, options, file.stem().string());
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  log(log_level::info, "'" + file.string() + "' with " + std::to_string(graph().nodes().size()) +
                           " nodes was loaded in " + std::to_string(took.count()) + " ms; " +
                           std::to_string(inter_op_threads()) + " firings may run at once, " +
                           std::to_string(intra_op_threads()) + " threads may join one");
  for (const auto& note : model_.info.notes)
    log(log_level::info, note);
  if (!options.trace.empty())
    engine_->session.start_trace();
}

loaded_model::~loaded_model() = default;

unsigned loaded_model::intra_op_threads() const {
  return engine_->session.threads().intra_op;
}
unsigned loaded_model::inter_op_threads() const {
  return engine_->session.threads().inter_op;
}

named_values loaded_model::run(const named_values& feeds, std::span<const std::string> fetch) try {
  const auto results = engine_->session.run(feeds_of(feeds), {.fetch = {fetch.begin(), fetch.end()}});
  named_values named;
  for (std::size_t i = 0; i < results.size(); ++i)
    named.emplace(results.name(i), results.at(i));
  return named;
} catch (const error& e) {
  std::rethrow_exception(run_failure(e));
}

void loaded_model::start(const named_values& feeds, std::function<void(std::exception_ptr)> done) {
  auto pending = engine_->session.run_async(feeds_of(feeds));
  pending.then([done](const values&) { done(nullptr); }, [done](const error& e) { done(run_failure(e)); });
}

void loaded_model::report() const {
  if (!options_.trace.empty())
    write_file(options_.trace, [this](std::ostream& out) { engine_->session.write_trace(out); });
  if (options_.log_placement)
    for (const auto& n : graph().nodes())
      std::cerr << n.name << ": " << where(engine_->session.explain(n.name)) << '\n';
}

struct graph_executor::engine_part {
  engine runtime;
  const execution_options options;
};

graph_executor::graph_executor(const execution_options& options)
  : engine_(new engine_part{.runtime = engine{engine_of(options.devices)}, .options = options}) {}

graph_executor::~graph_executor() = default;

graph_runner graph_executor::open(std::shared_ptr<const graph> g) const {
  std::vector<std::string> names;
  for (const auto e : g->inputs())
    names.push_back(g->at_edge(e).name);
  auto s = engine_->runtime.load(std::move(g), options_of(engine_->options, {}));
  return [s, names](std::span<const value> inputs) mutable {
    feeds f;
    for (std::size_t i = 0; i < names.size(); ++i)
      f.set(names[i], inputs[i]);
    return std::move(s.run(std::move(f)).items());
  };
}

std::shared_ptr<const op_registry> known_operators() {
  return standard_operators()->schemas();
}

} // namespace sluice::tools
