#include <sluice/scheduler/plan.hpp>

#include <sluice/graph/tensor_block.hpp>
#include <sluice/scheduler/control_flow.hpp>
#include <sluice/scheduler/cost_model.hpp>
#include <sluice/scheduler/evaluate.hpp>
#include <sluice/scheduler/frame_layout.hpp>
#include <sluice/scheduler/step_place.hpp>
#include <sluice/scheduler/transfers.hpp>

#include <algorithm>
#include <functional>

namespace sluice {

namespace {

/// Values computed from shapes are small. What is larger, and larger than what it is computed from, is left
/// to the runtime, so that a plan stays cheap to make and to keep.
constexpr std::size_t largest_folded_by_shape = 4096; // bytes

/// A lower bound of a CPU's rates, for the first guess at a firing's time; sampling corrects it.
constexpr double flops_per_ns = 10;
constexpr double bytes_per_ns = 8;

/// A tensor of a type without elements, for operators that read shapes only.
value shape_of(const value_type& t) {
  return tensor::over(t.element(), *t.shape().to_shape(), nullptr, [] {});
}

/// Compiles one graph. Knowledge about edges grows while it walks through the nodes.
class planner {
public:
  planner(std::shared_ptr<const graph> g, std::span<const value> constants, const plan_request& request,
          kernel_cache& kernels)
    : graph_(*g), request_(request), kernels_(kernels), made_(std::make_shared<plan>()) {
    made_->source = std::move(g);
    made_->fed = request.fed;
    made_->fetch = request.fetch;
    made_->width = request.width;
    made_->step_of.assign(graph_.nodes().size(), plan::no_step);
    made_->feed_routes.resize(request.fed.size());
    if (request.places)
      made_->devices = request.places->devices;
    made_->device_bytes.resize(made_->devices.size());
    made_->device_arenas.resize(made_->devices.size());
    made_->used.resize(made_->devices.size());
    known_.assign(constants.begin(), constants.end());
    for (const auto& e : graph_.edges())
      types_.push_back(e.type);
    for (const auto& f : request.fed)
      feed(f);
    for (std::size_t e = 0; e < known_.size(); ++e)
      if (!known_[e].empty())
        types_[e] = value_type::of(known_[e]);
  }

  std::shared_ptr<const plan> make() {
    find_needed();
    for (node_index n = 0; n < graph_.nodes().size(); ++n)
      if (needed_[n])
        visit(n);
    drop_unused();
    const auto placed = !made_->devices.empty();
    if (placed)
      transfers_.emplace(*made_, known_, types_);
    route();
    if (placed)
      assign_streams(*made_);
    if (request_.lanes > 0) // beside an accelerator the order stays open: steps wait for transfers
      lay_out(*made_, request_.lanes, request_.order_for_memory && !placed);
    if (request_.lanes > 0 && placed)
      lay_out_accelerators(*made_);
    finish();
    return made_;
  }

private:
  [[nodiscard]] bool is_fed(edge_index e) const {
    const auto at = std::lower_bound(request_.fed.begin(), request_.fed.end(), e,
                                     [](const auto& f, edge_index i) { return f.edge < i; });
    return at != request_.fed.end() && at->edge == e;
  }

  void feed(const plan_request::fed_edge& f) {
    auto merged = types_[f.edge].merged(f.type);
    if (!merged)
      throw error{errc::invalid_argument, '\'' + graph_.at_edge(f.edge).name + "' takes " +
                                              to_string(types_[f.edge]) + ", not " + to_string(f.type)};
    types_[f.edge] = std::move(*merged);
    known_[f.edge] = f.known;
  }

  /// Marks the nodes that the fetched values need, backwards from them.
  void find_needed() {
    needed_.assign(graph_.nodes().size(), false);
    std::vector<edge_index> pending{request_.fetch.begin(), request_.fetch.end()};
    while (!pending.empty()) {
      const auto e = pending.back();
      pending.pop_back();
      if (is_fed(e) || !known_[e].empty())
        continue;
      const auto producer = graph_.at_edge(e).producer;
      if (producer == no_node)
        throw error{errc::invalid_argument, "input '" + graph_.at_edge(e).name + "' is not fed"};
      if (needed_[producer])
        continue;
      needed_[producer] = true;
      for (const auto input : graph_.at(producer).inputs)
        if (input != no_edge)
          pending.push_back(input);
    }
  }

  void visit(node_index index) {
    const auto& n = graph_.at(index);
    std::vector<const value_type*> types;
    std::vector<value> constants;
    for (const auto e : n.inputs) {
      types.push_back(e == no_edge ? nullptr : &types_[e]);
      constants.push_back(e == no_edge ? value{} : known_[e]);
    }
    std::vector<value_type> outputs;
    if (n.function) {
      for (const auto e : n.outputs)
        outputs.push_back(types_[e]);
    } else {
      outputs = infer_outputs(n, types, constants);
      for (std::size_t i = 0; i < n.outputs.size(); ++i) {
        auto& t = types_[n.outputs[i]];
        // What a model declares may be wrong for the shapes at hand; what is inferred from them is not.
        t = outputs[i].known() ? outputs[i].merged(t).value_or(outputs[i]) : t;
        outputs[i] = t;
      }
      if (fold(n, types, constants))
        return;
    }

    plan_step step;
    step.node = index;
    for (std::uint32_t port = 0; port < n.inputs.size(); ++port) {
      step.input_types.push_back(types[port] ? *types[port] : value_type{});
      if (!constants[port].empty())
        step.constants.push_back({port, constants[port]});
    }
    if (is_control_flow(n))
      plan_bodies(n, types, constants, step);
    else if (!n.function)
      step.kernel = kernels_.get(n, types, constants, outputs, request_.width);
    step.estimated_ns = estimate(n, types, constants, outputs);
    step.output_types = std::move(outputs);
    if (request_.places)
      place_step(step, n, *request_.places);
    made_->step_of[index] = static_cast<std::uint32_t>(made_->steps.size());
    made_->steps.push_back(std::move(step));
  }

  /// Computes a node now if everything it reads is known. True if it did.
  bool fold(const graph::node& n, std::span<const value_type* const> types, std::vector<value>& constants) {
    if (!n.schema->pure || n.inputs.empty() || is_control_flow(n))
      return false;
    auto inputs = constants;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!types[i])
        continue;
      if (inputs[i].empty() && n.schema->shape_only && types[i]->concrete() &&
          types[i]->element() != element_type::string)
        inputs[i] = shape_of(*types[i]);
      else if (inputs[i].empty())
        return false;
      else if (inputs[i].is(value_kind::tensor))
        bytes += inputs[i].tensor().bytes();
    }
    std::size_t output_bytes = 0;
    for (const auto e : n.outputs)
      output_bytes += types_[e].bytes().value_or(0);
    if (output_bytes > std::max(largest_folded_by_shape, bytes))
      return false;
    auto outputs = evaluate(kernels_.operators(), n, inputs);
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      types_[n.outputs[i]] = value_type::of(outputs[i]);
      known_[n.outputs[i]] = std::move(outputs[i]);
    }
    return true;
  }

  void plan_bodies(const graph::node& n, std::span<const value_type* const> types,
                   std::span<const value> constants, plan_step& step) {
    for (const auto& name : n.schema->bodies) {
      const auto& body = n.attributes.get<std::shared_ptr<const graph>>(name);
      step.body_failures.emplace_back();
      try {
        step.bodies.push_back(plan_body(n, body, types, constants, true));
        continue;
      } catch (const error&) {
      }
      try { // the shapes at hand do not fit; those that arrive may
        step.bodies.push_back(plan_body(n, body, types, constants, false));
      } catch (const error&) {
        step.bodies.push_back(nullptr);
        step.body_failures.back() = std::current_exception();
      }
    }
  }

  std::shared_ptr<const plan> plan_body(const graph::node& n, const std::shared_ptr<const graph>& body,
                                        std::span<const value_type* const> types,
                                        std::span<const value> constants, bool with_shapes) {
    const auto formal = body->inputs().size() - n.captures;
    const auto own = n.inputs.size() - n.captures;
    const auto any_shape = [](const value_type& t) {
      return t.is_tensor() ? value_type{t.element(), partial_shape{}} : t;
    };
    plan_request request;
    request.width = request_.width;
    request.fetch.assign(body->outputs().begin(), body->outputs().end());
    for (std::size_t i = 0; i < body->inputs().size(); ++i) {
      plan_request::fed_edge f;
      f.edge = body->inputs()[i];
      if (i < formal) { // changes from one iteration to the next, in shape too
        f.type = any_shape(body->at_edge(f.edge).type);
        const auto port =
            i + own - formal; // a loop's own inputs and its body's formal ones end with the same values
        if (port < own && types[port])
          f.type = f.type.merged(any_shape(*types[port])).value_or(f.type);
      } else {
        const auto port = own + (i - formal);
        f.type = types[port] ? *types[port] : value_type{};
        f.type = with_shapes ? f.type : any_shape(f.type);
        f.known = constants[port];
      }
      request.fed.push_back(std::move(f));
    }
    std::sort(request.fed.begin(), request.fed.end(),
              [](const auto& a, const auto& b) { return a.edge < b.edge; });
    return make_plan(body, *kernels_.constants_of(body), request, kernels_);
  }

  static std::optional<double> estimate(const graph::node& n, std::span<const value_type* const> types,
                                        std::span<const value> constants,
                                        std::span<const value_type> outputs) {
    const auto cost = firing_cost(n, types, constants, outputs);
    if (!cost)
      return std::nullopt;
    return std::max(cost->flops / flops_per_ns, cost->bytes / bytes_per_ns);
  }

  /// Leaves out steps whose outputs turned out not to be needed, because a reader was computed when planned.
  void drop_unused() {
    std::vector<bool> wanted(graph_.edges().size(), false);
    for (const auto e : request_.fetch)
      wanted[e] = true;
    std::vector<plan_step> kept;
    for (auto step = made_->steps.rbegin(); step != made_->steps.rend(); ++step) {
      const auto& n = graph_.at(step->node);
      const auto stateful = n.function && n.function->kind == function_kind::stateful;
      if (!stateful &&
          std::none_of(n.outputs.begin(), n.outputs.end(), [&](edge_index e) { return wanted[e]; }))
        continue;
      for (const auto e : n.inputs)
        if (e != no_edge && known_[e].empty())
          wanted[e] = true;
      kept.push_back(std::move(*step));
    }
    std::reverse(kept.begin(), kept.end());
    made_->steps = std::move(kept);
    made_->step_of.assign(graph_.nodes().size(), plan::no_step);
    for (std::uint32_t i = 0; i < made_->steps.size(); ++i)
      made_->step_of[made_->steps[i].node] = i;
  }

  void route() {
    for (std::uint32_t s = 0; s < made_->steps.size(); ++s) {
      auto& step = made_->steps[s];
      if (step.node == no_node) {
        step.dynamic_inputs = 1;
        routes_of(step.moves, step.from).push_back({s, 0});
        continue;
      }
      const auto& n = graph_.at(step.node);
      step.routes.resize(n.outputs.size());
      for (std::uint32_t port = 0; port < n.inputs.size(); ++port) {
        const auto e = n.inputs[port];
        if (e == no_edge || !known_[e].empty())
          continue;
        ++step.dynamic_inputs;
        routes_of(e, made_->memory_of(step.device)).push_back({s, port});
      }
    }
    for (std::uint32_t r = 0; r < request_.fetch.size(); ++r) {
      const auto e = request_.fetch[r];
      if (!known_[e].empty())
        made_->direct.push_back({r, no_edge, known_[e]});
      else if (is_fed(e))
        made_->direct.push_back({r, e, {}});
      else
        routes_of(e, 0).push_back({plan_step::to_result, r});
    }
  }

  void finish() {
    made_->device_bytes = made_->device_arenas;
    for (std::uint32_t s = 0; s < made_->steps.size(); ++s) {
      count_bytes(made_->steps[s]);
      if (made_->steps[s].dynamic_inputs + made_->steps[s].waits == 0)
        made_->sources.push_back(s);
    }
  }

  /// Of what has no place in the arena.
  void count_bytes(const plan_step& step) {
    if (step.device > 0)
      made_->used[step.device] = true;
    if (step.view)
      return;
    // On the host a tensor's header stands before its elements.
    const auto on_host = made_->memory_of(step.device) == 0;
    const auto block = [&](std::size_t bytes) { return on_host ? tensor_block_bytes(bytes) : bytes; };
    auto& bytes = step.device == 0 ? made_->loose_bytes : made_->device_bytes[step.device];
    for (std::size_t i = 0; i < step.output_types.size(); ++i) {
      const auto placed = i < step.places.size() && step.places[i].bytes > 0;
      const auto view = step.node != no_node && is_view(graph_.at(step.node), i);
      if (!placed && !view)
        bytes += block(step.output_types[i].bytes().value_or(0));
    }
    if (step.kernel && step.kernel->traits().scratch_bytes > 0 && step.scratch_at == plan_step::no_place)
      bytes += block(step.kernel->traits().scratch_bytes);
  }

  /// The routes of the value of `e` as it lies in the memory of `device`.
  std::vector<plan_step::route>& routes_of(edge_index e, std::uint32_t device) {
    if (transfers_ && transfers_->home(e) != device)
      return made_->steps[transfers_->step(e, device)].routes[0];
    const auto at = std::lower_bound(request_.fed.begin(), request_.fed.end(), e,
                                     [](const auto& f, edge_index i) { return f.edge < i; });
    if (at != request_.fed.end() && at->edge == e)
      return made_->feed_routes[static_cast<std::size_t>(at - request_.fed.begin())];
    const auto& edge = graph_.at_edge(e);
    return made_->steps[made_->step_of[edge.producer]].routes[edge.port];
  }

  const graph& graph_;
  const plan_request& request_;
  kernel_cache& kernels_;
  const std::shared_ptr<plan> made_;
  std::vector<value> known_;                // by edge
  std::vector<value_type> types_;           // by edge
  std::vector<bool> needed_;                // by node
  std::optional<transfer_table> transfers_; // of a plan with places
};

} // namespace

std::vector<value> fold_constants(const graph& g, const operator_library& operators, memory& from) {
  std::vector<value> known;
  for (const auto& e : g.edges())
    known.push_back(e.constant);
  for (const auto& n : g.nodes()) {
    if (n.function || !n.schema->pure || is_control_flow(n))
      continue;
    std::vector<value> inputs;
    for (const auto e : n.inputs)
      inputs.push_back(e == no_edge ? value{} : known[e]);
    const auto complete = std::equal(n.inputs.begin(), n.inputs.end(), inputs.begin(),
                                     [](edge_index e, const value& v) { return e == no_edge || !v.empty(); });
    if (!complete)
      continue;
    auto outputs = evaluate(operators, n, inputs, from);
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      known[n.outputs[i]] = std::move(outputs[i]);
  }
  return known;
}

std::shared_ptr<const plan> make_plan(std::shared_ptr<const graph> g, std::span<const value> constants,
                                      const plan_request& request, kernel_cache& kernels) {
  return planner{std::move(g), constants, request, kernels}.make();
}

} // namespace sluice
