#include <sluice/actors/frame.hpp>

#include <sluice/actors/firing_loop.hpp>
#include <sluice/actors/graph_runtime.hpp>
#include <sluice/actors/next_frames.hpp>
#include <sluice/actors/node_actor.hpp>
#include <sluice/devices/device_value.hpp>

#include <algorithm>
#include <new>

namespace sluice {

void firing_state::run(worker& here) noexcept {
  const next_frames::turn turn{here};
  {
    firing_loop loop{here, owner};
    const auto& s = owner.step_of(cell);
    cell.actor.load(std::memory_order_acquire)->fire(owner, s, loop, loop.samples());
    loop.drain();
  }
  owner.release(here);
}

void frame::block_deleter::operator()(std::byte* p) const noexcept {
  ::operator delete[](p, std::align_val_t{memory::alignment});
}

frame::frame(graph_runtime& rt, std::uint32_t s) : runtime(rt), slot(s) {
  make_states();
}

frame::~frame() {
  destroy_states();
}

template <class F>
void frame::for_each_cell(F f) {
  for (auto& cell : runtime.cells())
    f(cell);
  for (std::size_t i = 0; i < transfers; ++i)
    f(runtime.transfers()[i].cell);
}

void frame::make_states() {
  block.reset(static_cast<std::byte*>(
      ::operator new[](std::max(runtime.slot_bytes(), 1u), std::align_val_t{memory::alignment})));
  transfers = runtime.transfers().size();
  for_each_cell([this](node_cell& cell) {
    const auto inputs = static_cast<std::uint32_t>(cell.node->inputs.size());
    auto* made = new (block.get() + cell.state_offset) firing_state{*this, cell, inputs};
    std::uninitialized_default_construct_n(made->inputs(), inputs);
  });
}

void frame::destroy_states() {
  for_each_cell([this](node_cell& cell) {
    auto& s = state(cell.state_offset);
    std::destroy_n(s.inputs(), s.input_count);
    s.~firing_state();
  });
}

void frame::open(std::shared_ptr<const executable_plan> p, std::vector<value> given, frame* parent,
                 frame_listener& who) {
  owner = parent;
  root = parent ? parent->root : this;
  listener = &who;
  if (parent) {
    memory = root->memory;
    number = root->number;
    opened_after_kill = root->opened_after_kill;
    trace = root->trace;
  }
  feeds = std::move(given);
  plan = std::move(p);
  results.resize(plan->source->fetch.size());
  marks.store(trace || runtime.services().stepped ? watched : healthy, std::memory_order_relaxed);
  first_failed.store(nothing_failed, std::memory_order_relaxed);
  failure = nullptr;
  activities.store(1, std::memory_order_relaxed);
  shared = runtime.services().stepped;
  if (bound != plan.get())
    bind_constants();
}

void frame::bind_constants() {
  if (transfers < plan->step_of_transfer.size()) {
    destroy_states();
    make_states();
  } else {
    for_each_cell([this](node_cell& cell) {
      auto& s = state(cell.state_offset);
      std::for_each_n(s.inputs(), s.input_count, [](value& v) { v.reset(); });
    });
  }
  for (const auto& step : plan->steps)
    for (const auto& c : step.planned->constants)
      state(step.state_offset).inputs()[c.port] = c.constant;
  bound = plan.get();
}

void frame::run(worker& here) noexcept {
  const next_frames::turn turn{here};
  start(here);
}

void frame::start(worker& here) noexcept {
  start_only(here);
  release(here);
}

void frame::start_only(worker& here) noexcept {
  firing_loop loop{here, *this};
  const auto& compiled = *plan->source;
  for (const auto& direct : compiled.direct)
    if (direct.fed == no_edge)
      results[direct.result] = direct.constant;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (feeds[i].empty())
      continue; // known to the plan, or still to come from outside
    for (const auto& direct : compiled.direct)
      if (direct.fed == compiled.fed[i].edge)
        results[direct.result] = feeds[i];
    send(*this, plan->feed_routes[i], {&feeds[i], 1}, loop);
  }
  for (const auto s : compiled.sources)
    loop.ready(plan->steps[s]);
  loop.drain();
}

void frame::fail(std::uint32_t index, std::exception_ptr why) noexcept {
  {
    const std::lock_guard lock{failure_mutex};
    if (index < first_failed.load(std::memory_order_relaxed)) {
      first_failed.store(index, std::memory_order_relaxed);
      failure = std::move(why);
    }
  }
  // What comes after in the graph sees the mark: it is delivered to by whoever set it, or by somebody later.
  marks.fetch_or(failed, std::memory_order_relaxed);
}

bool frame::skips(const executable_step& s, std::span<const value> inputs) const noexcept {
  if (root->marks.load(std::memory_order_relaxed) & stopped)
    return true;
  if (!(marks.load(std::memory_order_relaxed) & failed))
    return false;
  if (s.index > first_failed.load(std::memory_order_relaxed))
    return true;
  const auto& edges = s.cell->node->inputs;
  for (std::size_t port = 0; port < inputs.size(); ++port)
    if (inputs[port].empty() && edges[port] != no_edge)
      return true;
  return false;
}

const executable_step& frame::step_of(const node_cell& cell) const noexcept {
  return plan->steps[plan->step_of(cell.index, runtime.cells().size())];
}

bool frame::has_state_of(const node_cell& cell) const noexcept {
  return cell.index < runtime.cells().size() + transfers;
}

} // namespace sluice
