// What a session tells about itself.

#include <sluice/actors/session_core.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

namespace sluice {

void session_core::start_trace() {
  const std::lock_guard lock{mutex_};
  if (!tracer_)
    tracer_ = std::make_unique<tracer>();
  services_.trace.store(tracer_.get(), std::memory_order_release);
}

void session_core::write_trace(std::ostream& to) const {
  const auto* const t = services_.trace.load(std::memory_order_acquire);
  if (!t)
    throw error{errc::invalid_argument,
                "session '" + setup_.options.name + "' records no trace: call start_trace() first"};
  t->write(to);
}

namespace {

/// What an order that saves memory saves, and what it costs.
std::string cost_of(const memory_order_choice& c) {
  auto text = c.lanes == 1 ? std::string{"one node"} : std::to_string(c.lanes) + " nodes";
  text += " at a time, " + std::to_string(c.least_bytes) + " bytes at least instead of " +
          std::to_string(c.open_bytes);
  if (c.chosen == memory_order_choice::order::branches)
    text +=
        ", for an estimated " + std::to_string(std::lround((c.slowdown - 1) * 1000)) + " per mille more time";
  return text;
}

} // namespace

std::string session_core::explain(std::string_view name) {
  auto* const cell = [&] {
    const std::lock_guard lock{mutex_};
    return runtime_.find(name);
  }();
  if (!cell)
    throw error{errc::invalid_argument,
                "session '" + setup_.options.name + "' has no node '" + std::string{name} + '\''};
  const auto newest = plans_.newest();
  const auto ns = cell->cost_ns.load(std::memory_order_relaxed);
  const auto is_node = cell->index < runtime_.cells().size() && &runtime_.cells()[cell->index] == cell;
  const auto top_level = newest && (is_node || is_transfer(*cell));
  const auto at = top_level ? newest->step_of(cell->index, runtime_.cells().size()) : plan::no_step;
  auto text = title(*cell->node) + "\n  device: ";
  if (at == plan::no_step || newest->source->devices.empty())
    text += "cpu:0" + std::string{devices_.count() == 1 ? ", the only one" : ""};
  else
    text += newest->source->devices[newest->steps[at].planned->device].name + ": " +
            newest->steps[at].planned->why;
  text += "\n  cost: " + (ns < 0 ? "not known yet" : std::to_string(ns / 1000) + " us a firing");
  if (top_level && at == plan::no_step) {
    text += "\n  not executed: its value is known when the plan is made, or nobody asks for it";
  } else if (top_level) {
    const auto& bound = newest->steps[at];
    const auto& step = *bound.planned;
    if (step.node != no_node)
      text += "\n  kernel: " + std::string{bound.kernel || bound.function
                                               ? "prepared with the plan"
                                               : "prepared at firing, for the shapes that arrive"};
    text += "\n  width: at most " + std::to_string(newest->source->width) + " threads";
    for (std::size_t i = 0; i < step.output_types.size(); ++i) {
      text += "\n  output: " + to_string(step.output_types[i]);
      if (i < step.places.size() && step.places[i].bytes > 0)
        text += ", in the frame's arena at byte " + std::to_string(step.places[i].elements);
    }
    if (step.waits > 0)
      text += "\n  waits for " + std::to_string(step.waits) +
              " nodes of which it reads nothing, so that the frame needs less memory: " +
              cost_of(newest->source->memory_order);
  }
  return text + '\n';
}

std::string session_core::out_of_memory_text(const executable_plan& p) const {
  std::size_t results = 0;
  for (const auto& memory : frame_memories_)
    if (memory && memory->allocated() > 0)
      ++results;
  return "a frame needs " + std::to_string(p.frame_bytes()) + " bytes; " +
         std::to_string(ledger_->in_use(memory_use::held)) + " bytes in " + std::to_string(results) +
         " results held by callers; " + setup_.device->report();
}

bool session_core::at_rest() {
  bool rest = in_flight() == 0;
  const auto idle = [](frame& f, node_cell& cell) {
    if (!f.has_state_of(cell))
      return true;
    auto& state = f.state(cell.state_offset);
    if (state.arrived.load() != 0 || state.has_turn || f.activities.load() != 0 || !f.results.empty() ||
        !f.feeds.empty())
      return false;
    std::vector<const value_body*> bound(state.input_count);
    const auto step =
        f.plan && cell.index < f.runtime.cells().size() ? f.plan->source->step_of[cell.index] : plan::no_step;
    if (step != plan::no_step)
      for (const auto& c : f.plan->source->steps[step].constants)
        bound[c.port] = c.constant.body();
    return std::equal(bound.begin(), bound.end(), state.inputs(),
                      [](const value_body* b, const value& v) { return b == v.body(); });
  };
  const std::function<void(graph_runtime&)> look = [&](graph_runtime& rt) {
    for (auto& cell : rt.cells()) {
      rest = rest && (!cell.order || cell.order->idle());
      for (std::uint32_t s = 0; s < rt.window(); ++s)
        rest = rest && idle(rt.slot(s), cell);
      for (auto& body : cell.bodies)
        look(*body);
    }
    for (auto& t : rt.transfers())
      for (std::uint32_t s = 0; s < rt.window(); ++s)
        rest = rest && idle(rt.slot(s), t.cell);
  };
  look(runtime_);
  return rest;
}

} // namespace sluice
