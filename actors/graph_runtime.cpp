#include <sluice/actors/graph_runtime.hpp>

#include <sluice/actors/firing_loop.hpp>
#include <sluice/actors/node_actor.hpp>
#include <sluice/scheduler/control_flow.hpp>

#include <algorithm>
#include <bit>

namespace sluice {

namespace {

executable_step::kind kind_of(const graph::node& n) {
  using kind = executable_step::kind;
  if (is_control_flow(n))
    return kind::control_flow;
  if (!n.function)
    return kind::kernel;
  switch (n.function->kind) {
  case function_kind::pure:
    return kind::pure_function;
  case function_kind::stateful:
    return kind::stateful_function;
  case function_kind::blocking:
    return kind::blocking_function;
  }
  return kind::kernel;
}

/// How a step of a plan is executed.
executable_step::kind kind_of(const plan& p, const plan_step& planned, const graph::node& n) {
  if (planned.node == no_node)
    return executable_step::kind::transfer;
  if (planned.device == 0)
    return kind_of(n);
  return p.memory_of(planned.device) == 0 ? executable_step::kind::on_other_cpu
                                          : executable_step::kind::on_accelerator;
}

/// False if a kernel would have to guess the types of what it makes: inference at firing tells.
bool types_known(const plan_step& planned) {
  return std::all_of(planned.output_types.begin(), planned.output_types.end(), [](const value_type& t) {
    return t.is_tensor() ? t.element() != element_type::undefined : t.known();
  });
}

/// What the routes of one value become.
void append_routes(std::vector<executable_route>& to, const std::vector<plan_step::route>& routes,
                   std::uint16_t output, const std::vector<executable_step>& steps) {
  auto group = static_cast<std::uint16_t>(routes.size());
  for (const auto& r : routes) {
    if (r.step == plan_step::to_result)
      to.push_back({nullptr, r.port, output, group});
    else
      to.push_back(
          {&steps[r.step], firing_state::place_of_input(steps[r.step].state_offset, r.port), output, group});
    group = 0;
  }
}

/// True if what these routes lead to can keep two threads busy. What has not run yet may.
bool keeps_two_busy(std::span<const executable_route> routes) {
  std::size_t heavy = 0;
  for (const auto& r : routes)
    if (r.step) {
      const auto ns = r.step->cell->cost_ns.load(std::memory_order_relaxed);
      heavy += ns < 0 || ns >= firing_loop::heavy_ns ? 1 : 0;
    }
  return heavy > 1;
}

} // namespace

graph_runtime::graph_runtime(std::shared_ptr<const graph> g, runtime_services& services, std::uint32_t window,
                             bool is_body)
  : graph_(std::move(g)), services_(services), cells_(graph_->nodes().size()) {
  for (node_index i = 0; i < cells_.size(); ++i) {
    auto& cell = cells_[i];
    const auto& n = graph_->at(i);
    cell.node = &n;
    cell.index = i;
    cell.state_offset = slot_bytes_;
    slot_bytes_ += static_cast<std::uint32_t>(sizeof(firing_state) + n.inputs.size() * sizeof(value));
    if (is_body && kind_of(n) == executable_step::kind::stateful_function)
      throw error{errc::invalid_graph,
                  "node " + title(n) + " keeps state, which a body of control flow cannot"};
    if (kind_of(n) == executable_step::kind::stateful_function)
      cell.order = std::make_unique<turns>();
    if (is_control_flow(n))
      for (const auto& name : n.schema->bodies)
        cell.bodies.push_back(std::make_unique<graph_runtime>(
            n.attributes.get<std::shared_ptr<const graph>>(name), services, window, true));
  }
  for (std::uint32_t s = 0; s < window; ++s)
    slots_.push_back(std::make_unique<frame>(*this, s));
}

graph_runtime::~graph_runtime() = default;

std::shared_ptr<const executable_plan> graph_runtime::bind(std::shared_ptr<const plan> p) {
  auto made = std::make_shared<executable_plan>();
  made->source = std::move(p);
  const auto& compiled = *made->source;
  made->steps = std::vector<executable_step>(compiled.steps.size());
  made->bodies.resize(compiled.steps.size());
  std::size_t route_count = 0;
  for (const auto& planned : compiled.steps)
    for (const auto& r : planned.routes)
      route_count += r.size();
  made->routes.reserve(route_count); // spans point into it
  made->step_of_transfer.assign(transfers_.size(), plan::no_step);
  for (std::uint32_t i = 0; i < made->steps.size(); ++i) { // routes lead to later steps
    const auto& planned = compiled.steps[i];
    auto& cell = planned.node == no_node
                     ? find_transfer(planned.moves, compiled.devices[planned.device].name)->cell
                     : cells_[planned.node];
    made->steps[i].cell = &cell;
    made->steps[i].state_offset = cell.state_offset;
    if (planned.node == no_node)
      made->step_of_transfer[cell.index - cells_.size()] = i;
  }
  for (std::uint32_t i = 0; i < made->steps.size(); ++i) {
    auto& s = made->steps[i];
    const auto& planned = compiled.steps[i];
    auto& cell = *s.cell;
    s.kernel = types_known(planned) ? planned.kernel.get() : nullptr;
    s.function = cell.node->function.get();
    s.index = i;
    s.arrivals = planned.dynamic_inputs + planned.waits;
    s.inputs = static_cast<std::uint16_t>(cell.node->inputs.size());
    s.outputs = static_cast<std::uint16_t>(cell.node->outputs.size());
    s.what = kind_of(compiled, planned, *cell.node);
    s.planned = &planned;
    if (cell.node->schema && !s.kernel && !is_control_flow(*cell.node) && !cell.late)
      cell.late = std::make_unique<late_kernels>(); // before any frame runs a plan that needs it
    s.has_constants = !planned.constants.empty();
    s.is_waited_for = !planned.then.empty();
    s.simple = s.what == executable_step::kind::pure_function && s.outputs == 1 && !s.has_constants &&
               !s.is_waited_for;
    for (std::size_t b = 0; b < planned.bodies.size(); ++b)
      made->bodies[i].push_back(planned.bodies[b] ? cell.bodies[b]->bind(planned.bodies[b]) : nullptr);
    // On an accelerator a firing takes what enqueueing takes.
    if (s.what == executable_step::kind::kernel && planned.estimated_ns &&
        cell.cost_ns.load(std::memory_order_relaxed) < 0)
      cell.cost_ns.store(static_cast<float>(*planned.estimated_ns), std::memory_order_relaxed);
    const auto first = made->routes.size();
    for (std::size_t output = 0; output < planned.routes.size(); ++output)
      append_routes(made->routes, planned.routes[output], static_cast<std::uint16_t>(output), made->steps);
    s.routes = made->routes.data() + first;
    s.route_count = static_cast<std::uint32_t>(made->routes.size() - first);
  }
  for (const auto& feed : compiled.feed_routes)
    append_routes(made->feed_routes.emplace_back(), feed, 0, made->steps);
  for (auto& cell : cells_)
    if (cell.order && compiled.step_of[cell.index] == plan::no_step)
      made->absent_stateful.push_back(&cell);
  return made;
}

void executable_plan::note_loose_bytes(std::size_t peak) const noexcept {
  for (auto seen = high_water_.load(std::memory_order_relaxed);
       (seen == no_frame_yet || seen < peak) &&
       !high_water_.compare_exchange_weak(seen, peak, std::memory_order_relaxed);) {
  }
}

bool executable_plan::expects_forks() const noexcept {
  const auto frames = frames_.load(std::memory_order_relaxed) + 1;
  frames_.store(frames, std::memory_order_relaxed);
  if (std::has_single_bit(frames) || frames % 256 == 0)
    forks_.store(forks(), std::memory_order_relaxed);
  return forks_.load(std::memory_order_relaxed);
}

bool executable_plan::forks() const noexcept {
  return std::any_of(feed_routes.begin(), feed_routes.end(),
                     [](const auto& r) { return keeps_two_busy(r); }) ||
         std::any_of(steps.begin(), steps.end(), [](const auto& s) {
           return keeps_two_busy({s.routes, s.route_count});
         });
}

transfer_node* graph_runtime::find_transfer(edge_index e, std::string_view device) noexcept {
  const auto at = std::find_if(transfers_.begin(), transfers_.end(),
                               [&](const transfer_node& t) { return t.moves == e && t.device == device; });
  return at == transfers_.end() ? nullptr : &*at;
}

std::vector<node_cell*> graph_runtime::add_transfers(const plan& p) {
  std::vector<node_cell*> added;
  for (const auto& step : p.steps) {
    if (step.node != no_node || find_transfer(step.moves, p.devices[step.device].name))
      continue;
    auto& t = transfers_.emplace_back();
    t.moves = step.moves;
    t.device = p.devices[step.device].name;
    t.node.name = graph_->at_edge(t.moves).name + " → " + t.device;
    t.node.op = "Transfer";
    t.node.inputs = {t.moves};
    t.node.outputs = {t.moves};
    t.cell.node = &t.node;
    t.cell.index = static_cast<node_index>(cells_.size() + transfers_.size() - 1);
    t.cell.state_offset = slot_bytes_;
    slot_bytes_ += static_cast<std::uint32_t>(sizeof(firing_state) + sizeof(value));
    added.push_back(&t.cell);
  }
  return added;
}

node_cell* graph_runtime::find(std::string_view name) {
  if (const auto i = graph_->find_node(name); i != no_node)
    return &cells_[i];
  for (auto& t : transfers_)
    if (t.node.name == name)
      return &t.cell;
  for (auto at = name.find('/'); at != std::string_view::npos; at = name.find('/', at + 1)) {
    const auto owner = graph_->find_node(name.substr(0, at));
    if (owner == no_node)
      continue;
    for (auto& body : cells_[owner].bodies)
      if (auto* inner = body->find(name.substr(at + 1)))
        return inner;
  }
  return nullptr;
}

} // namespace sluice
