#include <tools/command/commands.hpp>

#include <tools/console.hpp>
#include <tools/planning/figures.hpp>
#include <tools/planning/plan_files.hpp>
#include <tools/results/destination.hpp>
#include <tools/results/table.hpp>
#include <tools/suggestion.hpp>

#include <sluice/stream/file_bytes.hpp>

#include <algorithm>
#include <iostream>

namespace sluice::tools {

namespace {

void print_head(const plan_arguments& a, const model_plan& p) {
  const auto& schedule = p.placed.made.schedule;
  std::cout << a.planning.model << ": " << p.problem().steps.size() << " steps, planned in "
            << ms(p.planning_ms * 1e6) << " ms for";
  for (const auto& f : p.plan->fed)
    std::cout << ' ' << p.model.graph->at_edge(f.edge).name << ' ' << to_string(f.type);
  std::cout << ", " << p.plan->width << (p.plan->width == 1 ? " thread" : " threads") << " a step\n"
            << "estimated finish: " << ms(schedule.finish_ns) << " ms";
  if (p.devices.size() > 1)
    std::cout << (p.host_only_ns ? "; on cpu:0 alone " + ms(*p.host_only_ns) + " ms"
                                 : "; on cpu:0 alone it does not fit");
  std::cout << "\nestimates:";
  for (const auto from :
       {cost_source::measured, cost_source::corrected, cost_source::formula, cost_source::unknown})
    if (const auto n = p.costs.steps[static_cast<std::size_t>(from)]; n > 0)
      std::cout << ' ' << n << ' ' << to_string(from);
  const auto guessed = p.problem().steps.size() - p.costs.steps[0];
  std::cout << (guessed > 0 ? " (--measure measures this model's kernels)\n" : "\n");
  for (const auto& note : p.notes)
    std::cout << "note: " << note << '\n';
}

void print_devices(const model_plan& p) {
  table_writer t{{"device", ">budget", "from", ">peak", ">weights", ">steps", ">busy ms"}};
  for (const auto& d : p.devices)
    t.row({d.device.name, bytes(d.device.budget), d.budget_from, bytes(d.peak_bytes),
           bytes(d.memory.weight_bytes), std::to_string(d.steps), ms(d.busy_ns)});
  std::cout << '\n';
  t.print(std::cout);
}

void print_parts(const model_plan& p) {
  table_writer t{{"part", "device", ">steps", "from", "to", ">start ms", ">finish ms", ">work ms", ">arrives",
                  ">made", ">weights"}};
  for (std::size_t i = 0; i < p.parts.size(); ++i) {
    const auto& part = p.parts[i];
    t.row({std::to_string(i + 1), p.devices[part.device].device.name, std::to_string(part.steps.size()),
           p.problem().steps[part.steps.front()].name, p.problem().steps[part.steps.back()].name,
           ms(part.start_ns), ms(part.finish_ns), ms(part.work_ns), bytes(part.arriving_bytes),
           bytes(part.made_bytes), bytes(part.weight_bytes)});
  }
  std::cout << '\n';
  t.print(std::cout);
}

void print_transfers(const model_plan& p) {
  const auto& all = p.placed.made.schedule.transfers;
  if (all.empty())
    return;
  constexpr std::size_t shown = 20;
  table_writer t{{"value", "from", "to", ">bytes", ">start ms", ">takes ms"}};
  std::size_t sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& link = p.problem().links[all[i].link];
    const auto& v = p.problem().values[all[i].value];
    sum += v.bytes;
    if (i < shown)
      t.row({v.name, p.devices[link.from].device.name, p.devices[link.to].device.name, bytes(v.bytes),
             ms(all[i].start_ns), ms(all[i].finish_ns - all[i].start_ns)});
  }
  std::cout << '\n'
            << all.size() << (all.size() == 1 ? " transfer, " : " transfers, ") << bytes(sum)
            << (all.size() > shown ? "; the first " + std::to_string(shown) + ":\n" : "\n");
  t.print(std::cout);
}

void print_memory(const model_plan& p) {
  table_writer t{{"device", "steps at once", ">arena", ">least possible", ">in place", ">ms"}};
  for (const auto& d : p.devices)
    for (const auto& a : d.arenas)
      if (a.layout.bytes > 0)
        t.row({d.device.name, a.order, bytes(a.layout.bytes), bytes(a.layout.least_bytes),
               std::to_string(a.in_place), a.ns > 0 ? ms(a.ns) : ""});
  std::cout << "\nmemory of one run besides weights, feeds and results, by the order that is allowed:\n";
  t.print(std::cout);
}

node_index find_node(const graph& g, const std::string& name) {
  const auto n = g.find_node(name);
  if (n != no_node)
    return n;
  std::vector<std::string> names;
  for (const auto& node : g.nodes())
    names.push_back(node.name);
  throw command_error{exit_code::usage, "--explain: the model has no node '" + name +
                                            "' (sluice inspect --nodes names them)" +
                                            suggestion(name, names)};
}

} // namespace

exit_code plan(const plan_arguments& a) {
  for (const auto& file : {a.json, a.html})
    if (!file.empty() && file != "-")
      check_destination(file);
  const auto p = make_model_plan(a.planning);
  std::vector<node_index> asked;
  for (const auto& name : a.explain)
    asked.push_back(find_node(*p.model.graph, name));
  if (a.json != "-" && asked.empty()) {
    print_head(a, p);
    print_devices(p);
    print_parts(p);
    print_transfers(p);
    print_memory(p);
  }
  if (a.log_placement) {
    asked.clear();
    for (node_index n = 0; n < p.model.graph->nodes().size(); ++n)
      asked.push_back(n);
  }
  if (!asked.empty() && a.json != "-") {
    if (a.log_placement)
      std::cout << '\n';
    for (const auto n : asked)
      std::cout << p.placed.explain(*p.plan, n) << '\n';
  }
  if (!a.json.empty())
    write_plan_json(a.json, a.planning.model, p);
  if (!a.html.empty())
    write_file(a.html, plan_page(a.planning.model, p));
  return exit_code::success;
}

} // namespace sluice::tools
