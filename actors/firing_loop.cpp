#include <sluice/actors/firing_loop.hpp>

#include <sluice/actors/node_actor.hpp>
#include <sluice/actors/step_execution.hpp>
#include <sluice/actors/tracer.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>

namespace sluice {

namespace {

using outputs_on_stack = boost::container::small_vector<value, 2>;
using clock = std::chrono::steady_clock;

/// Empties the inputs; one that arrived several times in a row is given back at once.
[[gnu::always_inline]] inline void give_back(std::span<value> inputs) noexcept {
  for (std::size_t i = 0; i < inputs.size();) {
    const auto* const body = inputs[i++].release();
    if (!body)
      continue;
    std::uint32_t references = 1;
    for (; i < inputs.size() && inputs[i].body() == body; ++i) {
      static_cast<void>(inputs[i].release());
      ++references;
    }
    body->drop_references(references);
  }
}

/// Empties the inputs that arrive; puts back the constants that the kernel took or worked on.
void reset_dynamic_inputs(const executable_step& s, value* inputs) {
  const auto& constants = s.planned->constants;
  auto constant = constants.begin();
  for (std::uint32_t i = 0; i < s.inputs; ++i) {
    if (constant == constants.end() || constant->port != i)
      inputs[i].reset();
    else if (const auto& c = *constant++; inputs[i].body() != c.constant.body())
      inputs[i] = c.constant;
  }
}

/// Ends the turn at a node with state; the frame whose turn it is now fires as a job.
void pass_turn_on(const executable_step& s, worker& here) {
  if (auto* next = s.cell->order->leave()) {
    auto& waiting = next->state(s.state_offset);
    waiting.has_turn = true;
    here.offer(waiting);
  }
}

/// True if it is the turn of `f` at a node with state. If not, the firing waits, and counts as an activity.
bool takes_turn(frame& f, const executable_step& s) {
  if (std::exchange(f.state(s.state_offset).has_turn, false))
    return true;
  // Whoever gives the turn later finds the activity already counted, and may do so on another thread.
  f.share();
  f.activities.fetch_add(1, std::memory_order_relaxed);
  if (!s.cell->order->enter(f.number, &f))
    return false;
  f.activities.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void trace(tracer& t, const frame& f, const executable_step& s, clock::time_point begin,
           clock::time_point end) {
  boost::container::small_vector<std::string_view, 8> consumers;
  for (std::uint32_t i = 0; i < s.route_count; ++i)
    if (s.routes[i].step)
      consumers.push_back(s.routes[i].step->cell->node->name);
  t.record({s.cell->node->name, s.cell->node->op, f.number, begin, end},
           {consumers.data(), consumers.size()});
}

/// Corrects the node's cost by a firing that was timed. One sample changes it by a bounded factor: the thread
/// may have lost its CPU meanwhile.
void note_time(const frame& f, const executable_step& s, clock::time_point begin, clock::time_point end) {
  const auto ns = std::chrono::duration<float, std::nano>(end - begin).count();
  const auto before = s.cell->cost_ns.load(std::memory_order_relaxed);
  const auto believed = std::min(ns, 4 * std::max(before, 100.f));
  s.cell->cost_ns.store(before < 0 ? ns : before + (believed - before) / 4, std::memory_order_relaxed);
  if (f.trace)
    trace(*f.trace, f, s, begin, end);
}

} // namespace

firing_loop::lists& firing_loop::of_thread() noexcept {
  static thread_local lists l;
  return l;
}

template <class Ready>
[[gnu::always_inline]] inline void node_actor::arrive(frame& f, const executable_step& s, std::uint32_t place,
                                                      value v, Ready& ready) {
  f.put(place, std::move(v));
  count_arrival(f, s, ready);
}

template <class Ready>
[[gnu::always_inline]] inline void node_actor::count_arrival(frame& f, const executable_step& s,
                                                             Ready& ready) {
  if (s.arrivals > 1) {
    auto& arrived = f.state(s.state_offset).arrived;
    auto count = arrived.load(std::memory_order_relaxed) + 1;
    if (!f.shared)
      arrived.store(count, std::memory_order_relaxed);
    else // Releases the input just stored, and acquires all others for whoever completes the count.
      count = arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (count != s.arrivals)
      return;
    // The next arrival here is in another frame of this slot, ordered after this one by its quiescence.
    arrived.store(0, std::memory_order_relaxed);
  }
  ready(s);
}

template <class Ready>
[[gnu::always_inline]] inline void node_actor::send_to_all(frame& f, std::span<const executable_route> routes,
                                                           const value_body* body, Ready& ready) noexcept {
  if (body && routes.size() != 1) {
    if (routes.empty())
      return body->drop_references(1);
    body->add_references(static_cast<std::uint32_t>(routes.size() - 1));
  }
  for (const auto& r : routes)
    if (r.step)
      arrive(f, *r.step, r.place, value::adopt(body), ready);
    else
      f.results[r.place] = value::adopt(body);
}

[[gnu::always_inline]] inline void node_actor::deliver(frame& f, std::span<const executable_route> routes,
                                                       std::span<value> values, firing_loop& loop) noexcept {
  const auto ready = [&loop](const executable_step& s) { loop.ready(s); };
  while (!routes.empty()) {
    const auto group = routes.front().group;
    send_to_all(f, routes.first(group), values[routes.front().output].release(), ready);
    routes = routes.subspan(group);
  }
}

[[gnu::always_inline]] inline void node_actor::finish(frame& f, const executable_step& s,
                                                      std::span<value> outputs, firing_loop& loop) noexcept {
  auto* const inputs = f.state(s.state_offset).inputs();
  if (s.has_constants)
    reset_dynamic_inputs(s, inputs);
  else
    give_back({inputs, s.inputs});
  if (s.what == executable_step::kind::stateful_function)
    pass_turn_on(s, loop.here());
  deliver(f, {s.routes, s.route_count}, outputs, loop);
  if (s.is_waited_for) {
    const auto ready = [&loop](const executable_step& next) { loop.ready(next); };
    for (const auto next : s.planned->then)
      count_arrival(f, f.plan->steps[next], ready);
  }
}

[[gnu::always_inline]] inline void node_actor::fire_into(frame& f, const executable_step& s,
                                                         std::span<value> outputs, firing_loop& loop,
                                                         bool timed) noexcept {
  auto& cell = *s.cell;
  const std::span<value> inputs{f.state(s.state_offset).inputs(), s.inputs};
  if (!(f.poisoned() && f.skips(s, inputs))) {
    try {
      if (cell.killed.load(std::memory_order_acquire) > f.opened_after_kill)
        throw error{errc::node_down, "its actor was killed"};
      timed = timed || f.trace || cell.cost_ns.load(std::memory_order_relaxed) < 0;
      const auto begin = timed ? clock::now() : clock::time_point{};
      const auto how = execute_step(f, s, inputs, outputs, loop.here());
      if (timed)
        note_time(f, s, begin, clock::now());
      if (s.simple)
        s.quick.store(cell.cost_ns.load(std::memory_order_relaxed) < firing_loop::heavy_ns,
                      std::memory_order_relaxed);
      if (how == completion::pending)
        return;
      const auto incomplete =
          std::any_of(outputs.begin(), outputs.end(), [](const value& v) { return v.empty(); });
      if (incomplete || cell.killed.load(std::memory_order_acquire) > f.opened_after_kill) [[unlikely]]
        check_firing(f, s, outputs);
    } catch (...) {
      f.fail(s.index, named_failure(*cell.node, std::current_exception()));
      for (auto& v : outputs)
        v.reset();
    }
  }
  finish(f, s, outputs, loop);
}

void node_actor::fire(frame& f, const executable_step& s, firing_loop& loop, bool timed) noexcept {
  if (s.what == executable_step::kind::stateful_function && !takes_turn(f, s))
    return;
  if (s.outputs == 1) {
    value output;
    fire_into(f, s, {&output, 1}, loop, timed);
  } else {
    outputs_on_stack outputs(s.outputs);
    fire_into(f, s, {outputs.data(), outputs.size()}, loop, timed);
  }
}

template <class Ready>
[[gnu::always_inline]] inline void node_actor::fire_simple(frame& f, const executable_step& s,
                                                           Ready& ready) noexcept {
  const std::span<value> inputs{f.state(s.state_offset).inputs(), s.inputs};
  value output;
  try {
    s.function->call(inputs, {&output, 1});
    if (output.empty() || f.all_marks() != frame::healthy) [[unlikely]]
      check_firing(f, s, {&output, 1});
  } catch (...) {
    f.fail(s.index, named_failure(*s.cell->node, std::current_exception()));
    output.reset();
  }
  give_back(inputs);
  send_to_all(f, {s.routes, s.route_count}, output.release(), ready);
}

void firing_loop::offer(const executable_step& s) {
  frame_.share();
  frame_.activities.fetch_add(1, std::memory_order_relaxed); // this thread's own keeps the frame from ending
  here_.offer(frame_.state(s.state_offset));
}

/// Takes the heavy firing to go on with out of the list. The others are offered if an idle thread gains by
/// them. If nobody is idle and the newest is short, it is taken, and all is looked at again after it; if
/// waking somebody takes longer than they do, the shortest is taken, which may lead to something worth more.
[[gnu::noinline]] const executable_step& firing_loop::next_heavy() {
  auto& heavy = lists_.heavy;
  const auto cost = [](const executable_step* s) { return s->cell->cost_ns.load(std::memory_order_relaxed); };
  const auto begin = heavy.begin() + static_cast<std::ptrdiff_t>(heavy_base_);
  auto taken = heavy.end() - 1;
  if (taken != begin && (cost(*taken) >= kept_below_ns || here_.has_idle_company())) {
    float sum = 0, longest = 0;
    for (auto i = begin; i != heavy.end(); ++i) {
      sum += cost(*i);
      longest = std::max(longest, cost(*i));
      if (cost(*i) < cost(*taken))
        taken = i;
    }
    if (sum - longest >= waking_ns || here_.has_company()) {
      taken = begin;
      std::for_each(begin + 1, heavy.end(), [this](const executable_step* s) { offer(*s); });
      heavy.erase(begin + 1, heavy.end());
    }
  }
  const auto& s = **taken;
  heavy.erase(taken);
  return s;
}

void firing_loop::drain() noexcept {
  auto& waiting = lists_.ready;
  auto& heavy = lists_.heavy;
  const auto stepped = frame_.runtime.services().stepped;
  const executable_step* newest = nullptr; // not in the list: in a chain no firing ever gets there
  const auto ready = [&](const executable_step& s) {
    if (newest)
      waiting.push_back(newest);
    newest = &s;
  };
  for (;;) {
    for (;;) {
      if (!newest) {
        if (waiting.size() == ready_base_)
          break;
        newest = waiting.back();
        waiting.pop_back();
      }
      const auto& s = *std::exchange(newest, nullptr);
      const auto timed = samples();
      if (s.quick.load(std::memory_order_relaxed) && !timed && frame_.all_marks() == frame::healthy)
        node_actor::fire_simple(frame_, s, ready);
      else if (stepped)
        offer(s);
      else if (s.cell->cost_ns.load(std::memory_order_relaxed) >= heavy_ns)
        heavy.push_back(&s);
      else
        s.cell->actor.load(std::memory_order_acquire)->fire(frame_, s, *this, timed);
    }
    if (heavy.size() == heavy_base_)
      return;
    const auto& kept = next_heavy();
    kept.cell->actor.load(std::memory_order_acquire)->fire(frame_, kept, *this, samples());
  }
}

void send(frame& f, std::span<const executable_route> routes, std::span<value> values,
          firing_loop& loop) noexcept {
  node_actor::deliver(f, routes, values, loop);
}

void finish_firing(frame& f, const executable_step& s, std::span<value> outputs, firing_loop& loop) noexcept {
  node_actor::finish(f, s, outputs, loop);
}

} // namespace sluice
