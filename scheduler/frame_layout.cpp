#include <sluice/scheduler/frame_layout.hpp>

#include <sluice/graph/tensor_block.hpp>
#include <sluice/scheduler/branch_order.hpp>
#include <sluice/scheduler/memory_plan.hpp>
#include <sluice/scheduler/plan.hpp>
#include <sluice/scheduler/plan_memory.hpp>

#include <algorithm>

namespace sluice {

namespace {

/// Any order is allowed as long as it takes at most so many times the memory of the best single file.
constexpr double worth_narrowing = 1.25;

bool blocks(const plan& p) {
  return std::any_of(p.steps.begin(), p.steps.end(), [&](const plan_step& s) {
    if (s.node == no_node) // a transfer
      return false;
    const auto& f = p.source->at(s.node).function;
    return f && f->kind == function_kind::blocking;
  });
}

/// Which orders are allowed, and what that costs.
step_schedule choose_order(const memory_graph& g, unsigned lanes, memory_order_choice& made) {
  using order = memory_order_choice::order;
  const auto serial = best_serial_order(g);
  made.open_bytes = least_memory(g, unrestricted_order());
  const auto limit = worth_narrowing * static_cast<double>(serial.peak);
  if (made.open_bytes == serial.peak)
    return unrestricted_order();
  if (lanes == 1) {
    made.chosen = order::serial;
    made.lanes = 1;
    return serial.schedule;
  }
  if (static_cast<double>(made.open_bytes) <= limit)
    return unrestricted_order();
  auto branches = best_branch_order(g, serial, lanes);
  if (branches.least_bytes >= made.open_bytes)
    return unrestricted_order();
  made.chosen = order::branches;
  made.lanes = lanes;
  made.slowdown = branches.fastest_ns > 0 ? branches.schedule.ns / branches.fastest_ns : 1;
  return std::move(branches.schedule);
}

/// The waits of `allowed` that neither data nor other waits imply.
void add_waits(plan& p, const memory_graph& g, const step_schedule& allowed) {
  const auto links = link(g);
  const step_precedence precedence{links, allowed};
  for (std::uint32_t s = 0; s < p.steps.size(); ++s)
    for (const auto first : precedence.direct()[s]) {
      const auto& data = links.before[s];
      const auto& direct = precedence.direct()[s];
      if (std::find(data.begin(), data.end(), first) != data.end() ||
          std::any_of(direct.begin(), direct.end(),
                      [&](auto other) { return other != first && precedence.before(first, other); }))
        continue;
      p.steps[first].then.push_back(s);
      ++p.steps[s].waits;
    }
}

bool is_placed(const memory_plan& arena, memory_graph::index b) {
  return b != memory_graph::none && arena.offsets[b] != memory_plan::not_placed;
}

/// Notes places in the steps: headers one after the other, elements from `elements_at` on.
void give_places(plan& p, const plan_memory_graph& memory, const memory_plan& arena, std::size_t elements_at,
                 std::size_t header_bytes) {
  std::size_t header_at = 0;
  for (std::uint32_t i = 0; i < p.steps.size(); ++i) {
    auto& s = p.steps[i];
    const auto& outputs = memory.outputs[i];
    if (std::any_of(outputs.begin(), outputs.end(), [&](auto b) { return is_placed(arena, b); }))
      s.places.resize(outputs.size());
    for (std::size_t port = 0; port < outputs.size(); ++port) {
      const auto b = outputs[port];
      if (!is_placed(arena, b))
        continue;
      s.places[port] = {header_at, elements_at + arena.offsets[b], memory.graph.buffers[b].bytes};
      header_at += header_bytes;
    }
    if (is_placed(arena, memory.scratch[i]))
      s.scratch_at = elements_at + arena.offsets[memory.scratch[i]];
  }
}

} // namespace

void lay_out(plan& p, unsigned lanes, bool narrow) {
  const auto memory = memory_of(p);
  const auto& g = memory.graph;
  const auto allowed = narrow && !blocks(p) ? choose_order(g, lanes, p.memory_order) : unrestricted_order();
  const auto arena = plan_memory(g, allowed);
  p.memory_order.least_bytes = arena.least_bytes;
  std::size_t headers = 0;
  for (const auto& outputs : memory.outputs)
    headers += static_cast<std::size_t>(
        std::count_if(outputs.begin(), outputs.end(), [&](auto b) { return is_placed(arena, b); }));
  const auto elements_at = headers * tensor_header_bytes();
  give_places(p, memory, arena, elements_at, tensor_header_bytes());
  if (arena.bytes > 0) {
    p.arena_bytes = elements_at + arena.bytes;
    add_waits(p, g, allowed);
  }
}

void lay_out_accelerators(plan& p) {
  for (std::uint32_t d = 1; d < p.devices.size(); ++d) {
    if (!p.devices[d].own_memory)
      continue;
    const auto memory = memory_of(p, d);
    if (memory.graph.buffers.empty())
      continue;
    const auto arena = plan_memory(memory.graph, unrestricted_order());
    give_places(p, memory, arena, 0, 0); // headers are the host's
    p.device_arenas[d] = arena.bytes;
  }
}

} // namespace sluice
