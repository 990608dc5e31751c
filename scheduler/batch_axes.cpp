#include <sluice/scheduler/batch_axes.hpp>

#include <sluice/graph/graph_builder.hpp>
#include <sluice/graph/tensor.hpp>
#include <sluice/scheduler/batch_flow.hpp>
#include <sluice/scheduler/control_flow.hpp>
#include <sluice/scheduler/evaluate.hpp>

#include <algorithm>

namespace sluice {

namespace {

/// What is computed while looking is small: shapes, axes, indices.
constexpr std::size_t largest_computed = 65'536; // bytes
/// So many combinations of axes are tried at most.
constexpr std::size_t most_tries = 512;

using flows = std::vector<batch_flow>;

/// A node that mixes items, and why.
struct mixed_items {
  std::string reason;
  std::size_t reached; ///< how many nodes were passed
};

value tensor_of(const std::vector<std::int64_t>& numbers, const value_type& like) {
  const auto element = like.is_tensor() ? like.element() : element_type::int64;
  auto s = like.is_tensor() ? like.shape().to_shape() : std::nullopt;
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (!s || s->elements() != count)
    s = shape{count};
  auto t = tensor::make(element, *s);
  if (element == element_type::int32)
    std::transform(numbers.begin(), numbers.end(), t->data<std::int32_t>().begin(),
                   [](std::int64_t n) { return static_cast<std::int32_t>(n); });
  else if (element == element_type::boolean)
    std::transform(numbers.begin(), numbers.end(), t->data<bool>().begin(),
                   [](std::int64_t n) { return n != 0; });
  else
    std::copy(numbers.begin(), numbers.end(), t->data<std::int64_t>().begin());
  return t;
}

/// Follows the batch through one graph.
class follower {
public:
  follower(const graph& g, const operator_library& operators, std::span<const value> constants, bool may_grow,
           std::vector<batch_axes::grown_target>* grown)
    : graph_(g), operators_(operators), may_grow_(may_grow), grown_(grown), flows_(g.edges().size()),
      set_(g.edges().size(), false) {
    for (edge_index e = 0; e < flows_.size(); ++e) {
      const auto& known =
          e < constants.size() && !constants[e].empty() ? constants[e] : g.at_edge(e).constant;
      if (known.empty())
        continue;
      flows_[e].known = known;
      flows_[e].type = value_type::of(known);
      set_[e] = true;
    }
  }

  void feed(edge_index e, batch_flow f) {
    flows_[e] = std::move(f);
    set_[e] = true;
  }

  /// Throws mixed_items, or what inference throws where the types do not fit the graph.
  flows follow(std::span<const edge_index> fetch) {
    const auto needed = needed_for(fetch);
    for (node_index i = 0; i < graph_.nodes().size(); ++i)
      if (needed[i])
        visit(i);
    flows fetched;
    for (const auto e : fetch)
      fetched.push_back(flows_[e]);
    return fetched;
  }

private:
  std::vector<bool> needed_for(std::span<const edge_index> fetch) const {
    std::vector<bool> needed(graph_.nodes().size(), false);
    std::vector<edge_index> pending{fetch.begin(), fetch.end()};
    while (!pending.empty()) {
      const auto e = pending.back();
      pending.pop_back();
      const auto producer = graph_.at_edge(e).producer;
      if (set_[e] || producer == no_node || needed[producer])
        continue;
      needed[producer] = true;
      for (const auto input : graph_.at(producer).inputs)
        if (input != no_edge)
          pending.push_back(input);
    }
    return needed;
  }

  void visit(node_index i) {
    const auto& n = graph_.at(i);
    try {
      follow_node(i, n);
    } catch (const batch_obstacle& o) {
      throw mixed_items{"node " + title(n) + ": " + o.why, i};
    }
    for (const auto e : n.outputs)
      set_[e] = true;
  }

  void follow_node(node_index i, const graph::node& n) {
    std::vector<const batch_flow*> in;
    auto shared = true;
    auto sized = false;
    for (const auto e : n.inputs) {
      in.push_back(e == no_edge ? nullptr : &flows_[e]);
      shared = shared && (e == no_edge || flows_[e].shared());
      sized = sized || (e != no_edge && flows_[e].what == batch_flow::kind::sized);
    }
    flows out(n.outputs.size());
    if (n.function) {
      if (!shared || n.function->kind == function_kind::stateful)
        throw batch_obstacle{"nothing is known of what a function does to a batch"};
      for (std::size_t o = 0; o < out.size(); ++o)
        out[o].type = graph_.at_edge(n.outputs[o]).type;
      return store(n, std::move(out));
    }
    if (!n.schema->pure)
      throw batch_obstacle{"each run draws other numbers, and a batch draws them for all items together"};
    if (is_control_flow(n) && !(shared && n.op != "If"))
      return follow_branches(n, in);
    const auto target = regrown(i, n, in);
    infer(n, in, target, out);
    if (shared && compute(n, in, out))
      return store(n, std::move(out));
    const batch_node seen{n, in, out};
    if (sized || n.schema->shape_only)
      if (calculate(seen, out.front()))
        return store(n, std::move(out));
    if (shared)
      return store(n, std::move(out));
    const auto rule = n.domain.empty() ? find_batch_rule(n.op) : nullptr;
    if (!rule)
      throw batch_obstacle{"nothing is known of what this operator does to a batch"};
    batch_flow grown_target;
    if (!target.empty()) {
      grown_target.known = target;
      grown_target.type = value_type::of(target);
      if (in.size() > 1)
        in[1] = &grown_target;
      else
        in.push_back(&grown_target);
    }
    rule({n, in, out});
    store(n, std::move(out));
  }

  void store(const graph::node& n, flows out) {
    for (std::size_t o = 0; o < n.outputs.size(); ++o)
      flows_[n.outputs[o]] = std::move(out[o]);
  }

  /// The target of a Reshape in which a fixed 1 becomes the batch; empty if it stays.
  value regrown(node_index i, const graph::node& n, const std::vector<const batch_flow*>& in) {
    if (!may_grow_ || !grown_ || n.op != "Reshape" || !in[0]->batched() || !in[0]->type.shape().known())
      return {};
    const auto target = in.size() > 1 && in[1]
                            ? known_numbers(in[1]->known)
                            : std::optional{n.attributes.get<std::vector<std::int64_t>>("shape", {})};
    if (!target)
      return {};
    auto grown = grown_reshape_target(*in[0], *target, n.attributes.get<std::int64_t>("allowzero", 0) != 0);
    if (!grown)
      return {};
    grown_->push_back({i, *grown});
    return tensor::of<std::int64_t>({static_cast<std::int64_t>(grown->size())}, *grown);
  }

  /// Types of the outputs for `batch_probe` items.
  static void infer(const graph::node& n, const std::vector<const batch_flow*>& in, const value& target,
                    flows& out) {
    std::vector<const value_type*> types;
    std::vector<value> constants;
    for (const auto* f : in) {
      types.push_back(f ? &f->type : nullptr);
      constants.push_back(!f ? value{} : f->what == batch_flow::kind::sized ? sizes_at_probe(*f) : f->known);
    }
    auto changed = n;
    if (!target.empty() && in.size() > 1)
      constants[1] = target;
    else if (!target.empty())
      changed.attributes.set("shape", *known_numbers(target));
    const auto inferred = infer_outputs(changed, types, constants);
    for (std::size_t o = 0; o < out.size() && o < inferred.size(); ++o)
      out[o].type = inferred[o];
  }

  static value sizes_at_probe(const batch_flow& f) {
    std::vector<std::int64_t> numbers;
    for (const auto& e : f.numbers)
      numbers.push_back(e.at(batch_probe));
    return tensor_of(numbers, f.type);
  }

  /// Computes a node whose inputs are known. True if it did.
  bool compute(const graph::node& n, const std::vector<const batch_flow*>& in, flows& out) const {
    std::vector<value> inputs;
    std::size_t bytes = 0;
    for (const auto* f : in) {
      if (f && f->known.empty())
        return false;
      inputs.push_back(f ? f->known : value{});
    }
    for (const auto& f : out)
      bytes += f.type.bytes().value_or(largest_computed + 1);
    if (bytes > largest_computed || is_control_flow(n))
      return false;
    auto made = evaluate(operators_, n, inputs);
    for (std::size_t o = 0; o < out.size(); ++o) {
      out[o].type = value_type::of(made[o]);
      out[o].known = std::move(made[o]);
    }
    return true;
  }

  static bool calculate(const batch_node& n, batch_flow& out) {
    auto numbers = calculate_sizes(n);
    if (!numbers)
      return false;
    const auto fixed =
        std::all_of(numbers->begin(), numbers->end(), [](const auto& e) { return e.per_item == 0; });
    if (fixed) {
      std::vector<std::int64_t> known;
      for (const auto& e : *numbers)
        known.push_back(e.fixed);
      out.known = tensor_of(known, out.type);
      out.type = value_type::of(out.known);
      return true;
    }
    out.what = batch_flow::kind::sized;
    out.numbers = std::move(*numbers);
    return true;
  }

  /// If: the branch that is taken is the same for all items, and both lay them out in the same way.
  void follow_branches(const graph::node& n, const std::vector<const batch_flow*>& in) {
    if (n.op != "If")
      throw batch_obstacle{"nothing is known of what its iterations do to a batch"};
    if (!in[0]->shared())
      throw batch_obstacle{"chooses a branch by what is in the batch"};
    const auto condition = known_numbers(in[0]->known);
    std::optional<flows> both;
    std::optional<error> misfit;
    for (const auto taken : {true, false}) {
      if (condition && !condition->empty() && (condition->front() != 0) != taken)
        continue;
      const auto& body =
          n.attributes.get<std::shared_ptr<const graph>>(taken ? "then_branch" : "else_branch");
      try {
        follower inside{*body, operators_, {}, false, nullptr};
        for (std::size_t i = 0; i < body->inputs().size(); ++i)
          inside.feed(body->inputs()[i], *in[i + 1]);
        auto made = inside.follow(body->outputs());
        if (!both)
          both = std::move(made);
        else
          agree(*both, made);
      } catch (const mixed_items& m) {
        throw batch_obstacle{m.reason};
      } catch (const error& e) {
        misfit = e; // a branch meant for other shapes, which throws whenever it is taken
      }
    }
    if (!both)
      throw *misfit;
    store(n, std::move(*both));
  }

  static void agree(flows& a, const flows& b) {
    for (std::size_t o = 0; o < a.size(); ++o) {
      if (a[o].what != b[o].what || a[o].axis != b[o].axis || a[o].rows != b[o].rows ||
          a[o].numbers != b[o].numbers)
        throw batch_obstacle{"its branches lay the batch out in different ways"};
      a[o].known.reset(); // either may be taken
      if (a[o].what == batch_flow::kind::sized)
        throw batch_obstacle{"its branches calculate with the number of items"};
    }
  }

  const graph& graph_;
  const operator_library& operators_;
  const bool may_grow_;
  std::vector<batch_axes::grown_target>* const grown_;
  flows flows_;           // by edge
  std::vector<bool> set_; // by edge
};

/// Where the batch may lie in a fed value.
struct choice {
  std::vector<std::optional<std::size_t>> axes; ///< the likeliest first
};

std::vector<choice> choices_of(const graph& g, const plan_request& request, fixed_batch fixed) {
  std::vector<choice> all;
  for (const auto& f : request.fed) {
    choice c;
    const auto& declared = g.at_edge(f.edge).type;
    const auto& s = f.type.shape();
    for (std::size_t a = 0; f.known.empty() && f.type.concrete() && a < s.rank(); ++a) {
      const auto& said = declared.is_tensor() && declared.shape().has_rank() ? declared.shape()[a] : dim{};
      if (!said.known() || (fixed == fixed_batch::may_grow && said.extent() == 1))
        c.axes.emplace_back(a);
    }
    c.axes.emplace_back(std::nullopt);
    all.push_back(std::move(c));
  }
  return all;
}

class searcher {
public:
  searcher(const graph& g, const operator_library& operators, std::span<const value> constants,
           const plan_request& request, fixed_batch fixed)
    : graph_(g), operators_(operators), constants_(constants), request_(request),
      may_grow_(fixed == fixed_batch::may_grow), choices_(choices_of(g, request, fixed)),
      picked_(choices_.size()) {}

  /// Combinations of `unlikely` steps from the likeliest, ever more of them, until one will do.
  batch_verdict search() {
    std::size_t steps = 0;
    for (const auto& c : choices_)
      steps += c.axes.size() - 1;
    for (std::size_t unlikely = 0; unlikely <= steps && tries_ < most_tries && !found_; ++unlikely)
      pick(0, unlikely);
    if (found_)
      return {std::move(found_), {}};
    return {std::nullopt, best_ ? best_->reason : "no input has an axis that a batch may lie on"};
  }

private:
  void pick(std::size_t i, std::size_t unlikely) {
    if (found_ || tries_ >= most_tries)
      return;
    if (i == choices_.size()) {
      if (unlikely == 0)
        attempt();
      return;
    }
    for (std::size_t k = 0; k < choices_[i].axes.size() && k <= unlikely; ++k) {
      picked_[i] = choices_[i].axes[k];
      pick(i + 1, unlikely - k);
    }
  }

  void attempt() {
    std::int64_t items = -1;
    for (std::size_t i = 0; i < picked_.size(); ++i) {
      if (!picked_[i])
        continue;
      const auto extent = request_.fed[i].type.shape()[*picked_[i]].extent();
      if (items >= 0 && extent != items)
        return; // two inputs with different numbers of items
      items = extent;
    }
    if (items < 0)
      return;
    ++tries_;
    batch_axes axes{picked_, {}, {}, items, {}};
    try {
      follower f{graph_, operators_, constants_, may_grow_, &axes.grown};
      for (std::size_t i = 0; i < picked_.size(); ++i)
        f.feed(request_.fed[i].edge, fed_flow(request_.fed[i], picked_[i]));
      const auto fetched = f.follow(request_.fetch);
      for (std::size_t r = 0; r < fetched.size(); ++r) {
        if (!fetched[r].batched())
          throw mixed_items{"result '" + graph_.at_edge(request_.fetch[r]).name +
                                "' is not one for each item",
                            graph_.nodes().size()};
        axes.fetched.push_back(fetched[r].axis);
        axes.fetched_rows.push_back(fetched[r].rows);
      }
      found_ = std::move(axes);
    } catch (const mixed_items& m) {
      if (!best_ || m.reached > best_->reached)
        best_ = m;
    } catch (const error& e) { // these axes contradict the graph
      if (!best_)
        best_ = mixed_items{e.what(), 0};
    }
  }

  static batch_flow fed_flow(const plan_request::fed_edge& f, std::optional<std::size_t> axis) {
    batch_flow flow;
    flow.type = f.type;
    flow.known = f.known;
    if (!axis)
      return flow;
    flow.what = batch_flow::kind::batched;
    flow.axis = *axis;
    auto s = f.type.shape();
    s[*axis] = batch_probe;
    flow.type = value_type{f.type.element(), std::move(s)};
    return flow;
  }

  const graph& graph_;
  const operator_library& operators_;
  const std::span<const value> constants_;
  const plan_request& request_;
  const bool may_grow_;
  const std::vector<choice> choices_; // by fed edge
  std::vector<std::optional<std::size_t>> picked_;
  std::size_t tries_ = 0;
  std::optional<batch_axes> found_;
  std::optional<mixed_items> best_; // the one that came furthest
};

/// What is declared of a value, with the batch on `axis`.
value_type with_symbol(const value_type& t, std::size_t axis) {
  auto s = t.shape();
  if (s.has_rank() && axis < s.rank())
    s[axis] = dim{"N"};
  return {t.element(), std::move(s)};
}

} // namespace

batch_verdict find_batch_axes(const graph& g, const operator_library& operators,
                              std::span<const value> constants, const plan_request& request,
                              fixed_batch fixed) {
  return searcher{g, operators, constants, request, fixed}.search();
}

std::shared_ptr<const graph> with_batch_dimension(const graph& g,
                                                  std::shared_ptr<const op_registry> operators,
                                                  const plan_request& request, const batch_axes& axes) {
  graph_builder made{std::move(operators)};
  std::vector<edge_ref> edges(g.edges().size());
  for (const auto e : g.inputs()) {
    auto type = g.at_edge(e).type;
    for (std::size_t i = 0; i < request.fed.size(); ++i)
      if (request.fed[i].edge == e && axes.fed[i])
        type = with_symbol(type, *axes.fed[i]);
    edges[e] = made.placeholder(g.at_edge(e).name, type);
  }
  for (edge_index e = 0; e < edges.size(); ++e)
    if (!g.at_edge(e).constant.empty())
      edges[e] = made.constant(g.at_edge(e).name, g.at_edge(e).constant);
  for (node_index i = 0; i < g.nodes().size(); ++i) {
    const auto& n = g.at(i);
    std::vector<edge_ref> inputs;
    for (const auto e : n.inputs)
      inputs.push_back(e == no_edge ? edge_ref{} : edges[e]);
    auto attributes = n.attributes;
    const auto grown =
        std::find_if(axes.grown.begin(), axes.grown.end(), [i](const auto& t) { return t.node == i; });
    if (grown != axes.grown.end() && inputs.size() > 1) {
      auto target =
          tensor::of<std::int64_t>({static_cast<std::int64_t>(grown->target.size())}, grown->target);
      inputs[1] = made.constant(n.name + ":target", std::move(target));
    } else if (grown != axes.grown.end()) {
      attributes.set("shape", grown->target);
    }
    std::vector<std::string> names;
    for (const auto e : n.outputs)
      names.push_back(g.at_edge(e).name);
    std::vector<edge_ref> outputs;
    const auto scope = made.on(n.device);
    if (n.function) {
      std::vector<value_type> types;
      for (const auto e : n.outputs)
        types.push_back(g.at_edge(e).type);
      outputs = made.function(n.name, inputs, types, *n.function);
    } else {
      outputs = made.op_outputs(
          n.op, inputs, attributes,
          {.name = n.name, .domain = n.domain, .opset = n.opset, .outputs = names, .captures = n.captures});
    }
    for (std::size_t o = 0; o < outputs.size(); ++o)
      edges[n.outputs[o]] = outputs[o];
  }
  for (std::size_t i = 0; i < g.outputs().size(); ++i)
    made.output(g.output_names()[i], edges[g.outputs()[i]]);
  return made.build(g.name());
}

} // namespace sluice
