#include <tools/planning/model_plan.hpp>

#include <tools/console.hpp>
#include <tools/exit_code.hpp>
#include <tools/feeds/feeds.hpp>
#include <tools/feeds/numbers.hpp>
#include <tools/feeds/random_value.hpp>
#include <tools/planning/parts.hpp>
#include <tools/suggestion.hpp>

#include <sluice/devices/cpu_threads.hpp>
#include <sluice/devices/usable_memory.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/branch_order.hpp>
#include <sluice/scheduler/plan_measurement.hpp>
#include <sluice/scheduler/plan_memory.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace sluice::tools {

namespace {

using clock = std::chrono::steady_clock;

double ms_since(clock::time_point start) {
  return std::chrono::duration<double, std::milli>(clock::now() - start).count();
}

command_error usage(const std::string& sentence) {
  return {exit_code::usage, sentence};
}

/// The shape of each input: given as a whole, or its own with symbols replaced and open extents 1.
std::vector<value_type> input_types(const graph& g, const planning_options& o) {
  std::map<std::string, shape> given;
  std::vector<std::string> names;
  for (const auto e : g.inputs())
    names.push_back(g.at_edge(e).name);
  for (const auto& text : o.shapes) {
    const auto at = text.rfind('=');
    if (at == std::string::npos)
      throw usage("--shape: '" + text + "' is not like x=1x3x224x224");
    const auto name = text.substr(0, at);
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw usage("--shape: the model has no input '" + name + "'" + suggestion(name, names));
    if (!given.emplace(name, parse_shape(text.substr(at + 1))).second)
      throw usage("--shape: input '" + name + "' is given twice");
  }
  std::vector<value_type> types;
  for (const auto e : g.inputs()) {
    const auto& edge = g.at_edge(e);
    auto type = edge.type;
    if (!type.is_tensor())
      throw command_error{exit_code::unsupported, "input '" + edge.name + "' is " + to_string(type) +
                                                      ": only tensors can be planned"};
    if (const auto found = given.find(edge.name); found != given.end()) {
      if (!type.shape().admits(found->second))
        throw usage("--shape: input '" + edge.name + "' takes " + to_string(type) + ", not " +
                    to_string(found->second));
      type = {type.element(), found->second};
    } else if (const auto open = default_shape(type.shape(), o.dims)) {
      type = {type.element(), *open};
    } else {
      throw usage("input '" + edge.name + "' says nothing of its shape: give it with --shape " + edge.name +
                  "=1x3x224x224");
    }
    types.push_back(std::move(type));
  }
  return types;
}

plan_request request_for(const graph& g, const planning_options& o, unsigned width) {
  plan_request request;
  request.width = width;
  const auto types = input_types(g, o);
  for (std::size_t i = 0; i < types.size(); ++i)
    request.fed.push_back({g.inputs()[i], types[i], {}});
  std::sort(request.fed.begin(), request.fed.end(),
            [](const auto& a, const auto& b) { return a.edge < b.edge; });
  request.fetch.assign(g.outputs().begin(), g.outputs().end());
  return request;
}

std::vector<planned_device> devices_of(const planning_options& o, unsigned lanes) {
  const auto limit = usable_memory();
  std::vector<planned_device> all(1);
  all[0].device = describe_host(lanes, limit.bytes);
  all[0].budget_from = limit.from;
  for (const auto& spec : asked_devices(o.devices)) {
    auto d = describe(spec, standard_operators());
    const auto said = d.budget != std::numeric_limits<std::size_t>::max();
    d.budget = std::min(d.budget, spec.kind == "cpu" ? limit.bytes : d.budget);
    const std::string from = said ? "its options" : limit.from;
    if (d.name == "cpu:0") {
      all[0].device = std::move(d);
      all[0].budget_from = from;
      continue;
    }
    all.emplace_back().device = std::move(d);
    all.back().budget_from = from;
  }
  for (const auto& [name, bytes] : asked_budgets(o.devices)) {
    const auto d = std::find_if(all.begin(), all.end(),
                                [&n = name](const planned_device& p) { return p.device.name == n; });
    if (d == all.end())
      throw usage("--budget: there is no device '" + name + "'; name it with --device");
    if (bytes) {
      d->device.budget = *bytes;
      d->budget_from = "--budget";
    }
  }
  return all;
}

/// Threads as a session picks them. Firings of several threads each leave room for fewer at once.
std::pair<unsigned, unsigned> width_and_lanes(const execution_options& o) {
  const auto cpus = usable_cpus();
  const auto width = o.intra_op_threads ? std::min(o.intra_op_threads, cpus) : cpus;
  const auto inter = o.inter_op_threads ? std::min(o.inter_op_threads, cpus) : cpus;
  return {width, std::max(1U, std::min(inter, cpus / width))};
}

/// Reads the profile: the user's own is made anew if it is broken, another one must be right.
kernel_profile read_profile(const planning_options& o, model_plan& made, unsigned width) {
  auto machine = this_machine(kernel_library_version(), width);
  const auto file = o.profile.empty() ? default_profile_file() : std::filesystem::path{o.profile};
  made.profile_file = file.string();
  if (file.empty())
    return kernel_profile{std::move(machine)};
  std::error_code ignored;
  if (!o.profile.empty() && !o.measure && !std::filesystem::exists(file, ignored))
    throw command_error{exit_code::bad_file, "file '" + file.string() + "' is not there"};
  try {
    auto profile = kernel_profile::read(file, machine);
    if (profile.all().empty() && profile.others() > 0)
      log(log_level::info,
          "'" + file.string() + "' has times of " + std::to_string(profile.others()) +
              " other machines, versions or numbers of threads, none of this: " + machine.cpu + ", Sluice " +
              machine.library + ", " + machine.kernels + ", " + std::to_string(machine.threads) + " threads");
    return profile;
  } catch (const error& e) {
    if (!o.profile.empty())
      throw command_error{exit_code::bad_file, e.what()};
    log(log_level::warning, std::string{e.what()} + "; kernel times start afresh");
    return kernel_profile{std::move(machine)};
  }
}

void measure_kernels(const planning_options& o, model_plan& made, kernel_profile& profile) {
  std::vector<value> feeds;
  for (const auto& f : made.plan->fed)
    feeds.push_back(random_value(f.type.element(), *f.type.shape().to_shape(), 1));
  constexpr double seconds = 2;
  measuring_effort effort{.seconds = seconds, .most_rounds = 200};
  progress line{"measuring kernels", effort.most_rounds};
  effort.done = [&line](std::size_t round) { line.set(round); };
  const auto where = cpu_threads::process().private_pool(made.plan->width);
  const auto times = measure(*made.plan, *standard_operators(), feeds, *where, effort);
  record(*made.plan, times, profile);
  log(log_level::info, "measured: " + std::to_string(times.rounds) + " rounds, one takes " +
                           std::to_string(times.serial_ns / 1e6) + " ms");
  if (made.profile_file.empty())
    return;
  try {
    profile.write(made.profile_file);
  } catch (const error& e) {
    if (!o.profile.empty())
      throw;
    log(log_level::warning, std::string{e.what()} + "; the times are not kept");
  }
}

arena_summary summarize(std::string order, const memory_graph& g, const step_schedule& allowed) {
  auto layout = plan_memory(g, allowed);
  const auto in_place = std::count_if(layout.takes_over.begin(), layout.takes_over.end(),
                                      [](memory_graph::index b) { return b != memory_graph::none; });
  return {std::move(order), allowed, std::move(layout), allowed.ns, static_cast<std::size_t>(in_place)};
}

void plan_memory_of(planned_device& d) {
  const auto& g = d.memory.graph;
  if (g.steps.empty())
    return;
  const auto serial = best_serial_order(g);
  d.arenas.push_back(summarize("one at a time", g, serial.schedule));
  double sum = 0;
  for (const auto& s : g.steps)
    sum += s.ns;
  d.arenas.back().ns = sum;
  if (g.steps.size() > step_precedence::most_steps)
    return;
  d.arenas.push_back(summarize("two at a time", g, best_branch_order(g, serial, 2).schedule));
  d.arenas.push_back(summarize("any", g, unrestricted_order()));
}

/// All on one device, and the plan's own description is exact: it knows what may or may not be a view.
void use_plans_memory(const sluice::plan& p, const plan_problem& described, placed_memory& m) {
  auto exact = memory_of(p).graph;
  for (std::size_t s = 0; s < exact.steps.size(); ++s)
    exact.steps[s].ns = described.step_of[s] == plan_problem::none
                            ? 0
                            : described.problem.steps[described.step_of[s]].time_ns[described.host];
  std::vector<std::string> names(exact.buffers.size());
  for (std::size_t s = 0; s < exact.steps.size(); ++s)
    for (const auto b : exact.steps[s].makes)
      names[b] = p.source->at(p.steps[s].node).name;
  m.graph = std::move(exact);
  m.buffers = std::move(names);
  m.steps.clear();
  for (std::uint32_t s = 0; s < p.steps.size(); ++s)
    m.steps.push_back({placed_memory::step::kind::firing, s});
}

std::optional<double> finish_on_host(const plan_problem& described) {
  auto alone = described.problem;
  for (auto& s : alone.steps)
    for (std::uint32_t d = 0; d < alone.devices.size(); ++d)
      if (d != described.host)
        s.time_ns[d] = placement_problem::no_kernel;
  const auto answer = place(alone, {.effort = 0});
  const auto* made = std::get_if<placement>(&answer);
  return made ? std::optional{made->schedule.finish_ns} : std::nullopt;
}

std::vector<described_device> described(const std::vector<planned_device>& devices) {
  std::vector<described_device> all;
  for (const auto& d : devices)
    all.push_back(d.device);
  return all;
}

void fill_devices(model_plan& made) {
  const auto& schedule = made.placed.made.schedule;
  for (std::uint32_t d = 0; d < made.devices.size(); ++d) {
    auto& device = made.devices[d];
    device.peak_bytes = schedule.peak_bytes[d];
    device.memory = memory_on(*made.plan, made.placed, d);
    for (std::size_t s = 0; s < made.problem().steps.size(); ++s)
      if (made.placed.made.places[s] == d) {
        ++device.steps;
        device.busy_ns += made.problem().steps[s].time_ns[d];
      }
  }
  auto& host = made.devices[made.placed.described.host];
  if (host.steps == made.problem().steps.size())
    use_plans_memory(*made.plan, made.placed.described, host.memory);
  for (auto& device : made.devices)
    plan_memory_of(device);
}

} // namespace

model_plan make_model_plan(const planning_options& o) {
  model_plan made;
  std::optional<placement_file> rules;
  if (!o.placement.empty())
    rules = placement_file::read(o.placement);
  const auto [width, lanes] = width_and_lanes(o.execution);
  made.devices = devices_of(o, lanes);
  auto profile = read_profile(o, made, width);
  {
    const progress line{"loading '" + o.model + "'"};
    made.model = load_onnx_model(o.model, known_operators());
  }
  const auto& g = made.model.graph;
  check_symbols(*g, o.dims);
  const auto request = request_for(*g, o, width);

  auto start = clock::now();
  kernel_cache kernels{standard_operators()};
  try {
    made.plan = make_plan(g, fold_constants(*g, *standard_operators(), memory::heap()), request, kernels);
  } catch (const error& e) {
    if (e.code() != errc::invalid_graph) // the model was loaded: what is wrong is the shape
      throw;
    throw usage(std::string{e.what()} + " (open extents are 1 unless --dim or --shape says otherwise)");
  }
  made.preparing_ms = ms_since(start);
  if (o.measure)
    measure_kernels(o, made, profile);

  start = clock::now();
  const cost_model costs{std::make_shared<const kernel_profile>(std::move(profile))};
  made.placed = place_plan(*made.plan, described(made.devices),
                           {.rules = rules ? &*rules : nullptr, .costs = &costs, .strict = o.strict});
  fill_devices(made);
  made.planning_ms = ms_since(start);
  made.parts = parts_of(made.placed);
  made.host_only_ns = finish_on_host(made.placed.described);
  for (const auto from : made.placed.described.cost_from)
    ++made.costs.steps[static_cast<std::size_t>(from)];
  if (rules)
    for (const auto r : rules->apply(*g).idle_rules)
      made.notes.push_back("rule " + std::to_string(r) + " of '" + o.placement + "' meets no node");
  return made;
}

} // namespace sluice::tools
