#include <sluice/scheduler/plan_memory.hpp>

#include <sluice/scheduler/control_flow.hpp>
#include <sluice/scheduler/plan.hpp>
#include <sluice/scheduler/step_place.hpp>

#include <algorithm>
#include <optional>

namespace sluice {

namespace {

using index = memory_graph::index;

/// Bytes of a tensor's elements in `l`; nullopt if they are unknown.
std::optional<std::uint64_t> bytes_in(const value_type& t, layout l) {
  const auto plain = t.bytes();
  if (!plain || l == layout::plain)
    return plain;
  if (l == layout::packed || t.shape().rank() < 2)
    return std::nullopt;
  const std::uint64_t lanes = l == layout::nchw16c ? 16 : 8;
  const auto channels = static_cast<std::uint64_t>(t.shape()[1].extent());
  return channels == 0 ? 0 : *plain / channels * ((channels + lanes - 1) / lanes * lanes);
}

class describer {
public:
  describer(const plan& p, std::uint32_t device)
    : plan_(p), source_(*p.source), device_(device), places_(source_.edges().size()) {}

  plan_memory_graph describe() {
    for (const auto& s : plan_.steps)
      if (s.node == no_node)
        add_transfer(s);
      else
        add(s);
    if (on_host()) // otherwise they are brought there
      for (const auto e : plan_.fetch)
        leave(e);
    if (!plan_.devices.empty())
      follow_routes();
    return std::move(made_);
  }

private:
  [[nodiscard]] bool on_host() const noexcept { return device_ == 0; }
  /// Whether the step reads and makes values in the memory at hand.
  [[nodiscard]] bool is_here(const plan_step& s) const { return plan_.memory_of(s.device) == device_; }
  [[nodiscard]] const graph::node& node_of(const plan_step& s) const { return source_.at(s.node); }

  /// A transfer reads what it brings away from the host until the copy is made, after its step has ended; so
  /// that leaves. What it brings to the host has memory of its own. Between steps of accelerators events keep
  /// the order, and those are done when the work is.
  void add_transfer(const plan_step& s) {
    auto& step = made_.graph.steps.emplace_back();
    made_.outputs.emplace_back(1, memory_graph::none);
    made_.scratch.push_back(memory_graph::none);
    if (s.from == device_) {
      step.reads = places_[s.moves];
      if (on_host())
        leave(s.moves);
    } else if (const auto bytes = s.output_types[0].bytes(); s.device == device_ && !on_host() && bytes) {
      made_.outputs.back()[0] = new_buffer(*bytes);
      places_[s.moves] = step.makes = {made_.outputs.back()[0]};
    }
  }

  /// Who waits for whom in a plan with places, where transfers stand between steps.
  void follow_routes() {
    for (auto& s : made_.graph.steps)
      s.after.clear();
    for (index i = 0; i < plan_.steps.size(); ++i)
      for (const auto& output : plan_.steps[i].routes)
        for (const auto& r : output)
          if (r.step != plan_step::to_result)
            made_.graph.steps[r.step].after.push_back(i);
  }

  void add(const plan_step& s) {
    const auto& n = node_of(s);
    auto& step = made_.graph.steps.emplace_back();
    made_.outputs.emplace_back(n.outputs.size(), memory_graph::none);
    made_.scratch.push_back(memory_graph::none);
    step.ns = s.estimated_ns.value_or(0);
    for (index port = 0; port < n.inputs.size(); ++port) {
      const auto bound =
          std::any_of(s.constants.begin(), s.constants.end(), [&](const auto& c) { return c.port == port; });
      if (n.inputs[port] == no_edge || bound)
        continue;
      const auto& edge = source_.at_edge(n.inputs[port]);
      if (edge.producer != no_node && plan_.step_of[edge.producer] != plan::no_step &&
          !is_fed(n.inputs[port]))
        step.after.push_back(plan_.step_of[edge.producer]);
      if (is_here(s))
        step.reads.insert(step.reads.end(), places_[n.inputs[port]].begin(), places_[n.inputs[port]].end());
    }
    if (!is_here(s))
      return;
    for (index port = 0; port < n.outputs.size(); ++port)
      make(s, n, port, step);
    if (s.device == device_ && s.kernel && s.kernel->traits().scratch_bytes > 0) {
      made_.scratch.back() = new_buffer(s.kernel->traits().scratch_bytes);
      step.makes.push_back(made_.scratch.back());
    }
    if (on_host() && may_keep(s, n))
      for (const auto e : n.inputs)
        if (e != no_edge)
          leave(e);
  }

  void make(const plan_step& s, const graph::node& n, index port, memory_graph::step& step) {
    auto& places = places_[n.outputs[port]];
    if (on_host() ? is_view(n, port) : s.view) {
      if (n.inputs[0] != no_edge)
        places = places_[n.inputs[0]];
      return;
    }
    if (const auto bytes = own_bytes(s, n, port)) {
      const auto b = new_buffer(*bytes);
      step.makes.push_back(b);
      made_.outputs.back()[port] = b;
      places.push_back(b);
      permit_in_place(s, n, port, b, step);
    }
    if (!on_host()) // kernels write to what was made for them
      return;
    const auto look_into = [&](std::size_t input) {
      if (input < n.inputs.size() && n.inputs[input] != no_edge)
        places.insert(places.end(), places_[n.inputs[input]].begin(), places_[n.inputs[input]].end());
    };
    if (is_control_flow(n)) // a body may give what it was given
      for (std::size_t i = 0; i < n.inputs.size(); ++i)
        look_into(i);
    else if (n.schema)
      for (const auto& alias : n.schema->aliases)
        if (alias.output == port && may_be(s, alias))
          look_into(alias.input);
  }

  /// Whether an output can share bytes with an input, by what is known of their shapes.
  [[nodiscard]] static bool may_be(const plan_step& s, const op_schema::alias& a) {
    const auto from = a.input < s.input_types.size() ? s.input_types[a.input].bytes() : std::nullopt;
    const auto to = s.output_types[a.output].bytes();
    return a.in_part || !from || !to || *from == *to;
  }

  /// The bytes of an output's own buffer; nullopt if it has none in the plan.
  [[nodiscard]] std::optional<std::uint64_t> own_bytes(const plan_step& s, const graph::node& n,
                                                       index port) const {
    const auto& t = s.output_types[port];
    if (s.device != device_) // charged to another device
      return std::nullopt;
    if (!n.schema || !s.kernel || !t.concrete() || t.element() == element_type::string)
      return std::nullopt;
    const auto& gives = s.kernel->traits().gives;
    return bytes_in(t, port < gives.size() ? gives[port] : layout::plain);
  }

  /// Where the kernel permits it, the types are the same, and no other input lies in the same bytes.
  void permit_in_place(const plan_step& s, const graph::node& n, index port, index made,
                       memory_graph::step& step) const {
    for (const auto& pair : s.kernel->traits().in_place) {
      if (pair.output != port || pair.input >= n.inputs.size() || n.inputs[pair.input] == no_edge)
        continue;
      const auto& places = places_[n.inputs[pair.input]];
      const auto& from = s.input_types[pair.input];
      const auto& to = s.output_types[port];
      if (places.size() == 1 && std::count(step.reads.begin(), step.reads.end(), places[0]) == 1 &&
          from.concrete() && from.element() == to.element() && from.shape() == to.shape())
        step.in_place.push_back({made, places[0]});
    }
  }

  /// Whether values that go into the step may live on when nobody reads its outputs any more.
  [[nodiscard]] bool may_keep(const plan_step& s, const graph::node& n) const {
    return n.function || has_function(s) ||
           std::any_of(s.output_types.begin(), s.output_types.end(),
                       [](const value_type& t) { return !t.is_tensor(); });
  }

  [[nodiscard]] static bool has_function(const plan_step& s) {
    return std::any_of(s.bodies.begin(), s.bodies.end(), [](const auto& body) {
      return body && std::any_of(body->steps.begin(), body->steps.end(), [&](const plan_step& inner) {
               return body->source->at(inner.node).function || has_function(inner);
             });
    });
  }

  [[nodiscard]] bool is_fed(edge_index e) const {
    return std::any_of(plan_.fed.begin(), plan_.fed.end(), [&](const auto& f) { return f.edge == e; });
  }

  index new_buffer(std::uint64_t bytes) {
    made_.graph.buffers.push_back({bytes});
    return static_cast<index>(made_.graph.buffers.size() - 1);
  }

  void leave(edge_index e) {
    for (const auto b : places_[e])
      made_.graph.buffers[b].leaves = true;
  }

  const plan& plan_;
  const graph& source_;
  const std::uint32_t device_;
  std::vector<std::vector<index>> places_; // by edge: the buffers that its value may lie in
  plan_memory_graph made_;
};

} // namespace

plan_memory_graph memory_of(const plan& p, std::uint32_t device) {
  return describer{p, device}.describe();
}

} // namespace sluice
