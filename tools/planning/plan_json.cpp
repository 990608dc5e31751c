#include <tools/planning/plan_files.hpp>

#include <tools/results/json_report.hpp>

#include <nlohmann/json.hpp>

#include <array>

namespace sluice::tools {

namespace {

using json = nlohmann::ordered_json;

json device_json(const planned_device& d) {
  auto orders = json::array();
  for (const auto& a : d.arenas)
    orders.push_back({{"order", a.order},
                      {"arena_bytes", a.layout.bytes},
                      {"least_bytes", a.layout.least_bytes},
                      {"in_place", a.in_place},
                      {"estimated_ns", a.ns > 0 ? json{a.ns} : json{}}});
  return {{"name", d.device.name},
          {"lanes", d.device.lanes},
          {"rate", d.device.rate},
          {"budget_bytes", d.device.budget},
          {"budget_from", d.budget_from},
          {"steps", d.steps},
          {"busy_ns", d.busy_ns},
          {"peak_bytes", d.peak_bytes},
          {"weight_bytes", d.memory.weight_bytes},
          {"frame_memory", std::move(orders)}};
}

json part_json(const model_plan& p, const plan_part& part) {
  return {{"device", p.devices[part.device].device.name},
          {"steps", part.steps.size()},
          {"first", p.problem().steps[part.steps.front()].name},
          {"last", p.problem().steps[part.steps.back()].name},
          {"start_ns", part.start_ns},
          {"finish_ns", part.finish_ns},
          {"work_ns", part.work_ns},
          {"arriving_bytes", part.arriving_bytes},
          {"made_bytes", part.made_bytes},
          {"weight_bytes", part.weight_bytes}};
}

json transfer_json(const model_plan& p, const placement_schedule::transfer& t) {
  const auto& link = p.problem().links[t.link];
  return {{"value", p.problem().values[t.value].name},
          {"from", p.devices[link.from].device.name},
          {"to", p.devices[link.to].device.name},
          {"bytes", p.problem().values[t.value].bytes},
          {"start_ns", t.start_ns},
          {"finish_ns", t.finish_ns}};
}

json step_json(const model_plan& p, std::uint32_t s) {
  const auto& placed = p.placed;
  const auto node = p.plan->steps[placed.described.plan_step_of[s]].node;
  const auto& n = p.model.graph->at(node);
  const auto& at = placed.made.schedule.firings[s];
  return {{"node", n.name},
          {"op", n.domain.empty() ? n.op : n.domain + "::" + n.op},
          {"device", p.devices[placed.made.places[s]].device.name},
          {"start_ns", at.start_ns},
          {"finish_ns", at.finish_ns},
          {"estimate", to_string(placed.described.cost_from[s])},
          {"decision", placed.explain(*p.plan, node)}};
}

} // namespace

void write_plan_json(const std::string& file, const std::string& model, const model_plan& p) {
  json all{{"model", model},
           {"steps", p.problem().steps.size()},
           {"planning_ms", p.planning_ms},
           {"finish_ns", p.placed.made.schedule.finish_ns},
           {"host_only_finish_ns", p.host_only_ns ? json(*p.host_only_ns) : json{}}};
  auto& estimates = all["estimates"] = json::object();
  for (const auto from :
       {cost_source::measured, cost_source::corrected, cost_source::formula, cost_source::unknown})
    estimates[std::string{to_string(from)}] = p.costs.steps[static_cast<std::size_t>(from)];
  const auto add_list = [&all](const char* key, const auto& items, auto make) {
    auto list = json::array();
    for (const auto& item : items)
      list.push_back(make(item));
    all[key] = std::move(list);
  };
  add_list("devices", p.devices, device_json);
  add_list("parts", p.parts, [&](const plan_part& part) { return part_json(p, part); });
  add_list("transfers", p.placed.made.schedule.transfers, [&](const auto& t) { return transfer_json(p, t); });
  add_list("schedule", p.placed.made.schedule.order, [&](std::uint32_t s) { return step_json(p, s); });
  all["notes"] = p.notes;
  // Names may have bytes of a hostile file that are not UTF-8.
  write_json_text(file, all.dump(2, ' ', false, json::error_handler_t::replace) + '\n');
}

} // namespace sluice::tools
