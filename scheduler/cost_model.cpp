#include <sluice/scheduler/cost_model.hpp>

#include <sluice/scheduler/control_flow.hpp>
#include <sluice/scheduler/plan.hpp>

#include <algorithm>
#include <array>

namespace sluice {

namespace {

// What one thread of a current x86-64 server reaches in image models: medians by kind of operator.
constexpr double dense_flops_per_ns = 75; ///< convolutions, matrix products
constexpr double window_flops_per_ns = 2; ///< pooling
constexpr double other_flops_per_ns = 10;
constexpr double cached_bytes_per_ns = 40;
constexpr double uncached_bytes_per_ns = 20;
constexpr double most_cached_bytes =
    4e6; ///< what a step reads and writes of this size lies in a core's caches
constexpr double ns_of_a_firing = 400;

bool is_one_of(std::string_view op, std::span<const std::string_view> some) {
  return std::find(some.begin(), some.end(), op) != some.end();
}

double flops_per_ns(std::string_view op) {
  constexpr std::array<std::string_view, 9> dense{
      "Conv", "Gemm", "MatMul", "ConvTranspose", "ConvInteger", "QLinearConv", "LSTM", "GRU", "RNN"};
  constexpr std::array<std::string_view, 3> window{"MaxPool", "AveragePool", "LpPool"};
  if (is_one_of(op, dense))
    return dense_flops_per_ns;
  return is_one_of(op, window) ? window_flops_per_ns : other_flops_per_ns;
}

double by_formula(const op_cost& cost, std::string_view op) {
  const auto bytes_per_ns = cost.bytes <= most_cached_bytes ? cached_bytes_per_ns : uncached_bytes_per_ns;
  return ns_of_a_firing + std::max(cost.flops / flops_per_ns(op), cost.bytes / bytes_per_ns);
}

/// "Conv" of "Conv-11".
std::string_view without_version(std::string_view op) {
  return op.substr(0, op.rfind('-'));
}

double median(std::vector<double> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

} // namespace

std::optional<op_cost> firing_cost(const graph::node& n, std::span<const value_type* const> inputs,
                                   std::span<const value> constants, std::span<const value_type> outputs) {
  if (!n.schema || is_control_flow(n))
    return std::nullopt;
  for (const auto* t : inputs)
    if (t && !t->concrete())
      return std::nullopt;
  if (n.schema->cost)
    return n.schema->cost(op_view{n.attributes, n.opset, inputs, constants, n.outputs.size()}, outputs);
  op_cost cost;
  for (const auto& t : outputs)
    cost.bytes += static_cast<double>(t.bytes().value_or(0));
  return cost;
}

std::optional<op_cost> firing_cost(const plan& p, const plan_step& s) {
  const auto& n = p.source->at(s.node);
  std::vector<const value_type*> inputs;
  for (std::size_t i = 0; i < n.inputs.size(); ++i)
    inputs.push_back(n.inputs[i] == no_edge ? nullptr : &s.input_types[i]);
  std::vector<value> constants(n.inputs.size());
  for (const auto& c : s.constants)
    constants[c.port] = c.constant;
  return firing_cost(n, inputs, constants, s.output_types);
}

std::string_view to_string(cost_source s) noexcept {
  constexpr std::array<std::string_view, 4> words{"measured", "corrected", "formula", "unknown"};
  return words[static_cast<std::size_t>(s)];
}

cost_model::cost_model(std::shared_ptr<const kernel_profile> measured) : measured_(std::move(measured)) {
  if (!measured_)
    return;
  std::map<std::string, std::vector<double>, std::less<>> ratios;
  for (const auto& [id, time] : measured_->all()) {
    const std::string op{without_version(id.op)};
    ratios[op].push_back(time.ns / by_formula({time.flops, time.bytes}, op));
  }
  for (auto& [op, of] : ratios)
    corrections_[op] = median(std::move(of));
}

cost_model::estimate cost_model::of(const plan& p, const plan_step& s) const {
  const auto& n = p.source->at(s.node);
  if (n.schema && is_control_flow(n))
    return of_bodies(s, n);
  const auto cost = firing_cost(p, s);
  if (!cost)
    return {unknown_ns, cost_source::unknown};
  if (measured_)
    if (const auto* time = measured_->find(id_of(p, s)))
      return {time->ns, cost_source::measured};
  const auto op = n.domain.empty() ? n.op : n.domain + "::" + n.op;
  const auto ns = by_formula(*cost, op);
  if (const auto found = corrections_.find(op); found != corrections_.end())
    return {ns * found->second, cost_source::corrected};
  return {ns, cost_source::formula};
}

cost_model::estimate cost_model::of_bodies(const plan_step& s, const graph::node& n) const {
  auto sum = 0.0;
  auto longest = 0.0;
  for (const auto& body : s.bodies) {
    auto ns = 0.0;
    if (body)
      for (const auto& inner : body->steps)
        ns += of(*body, inner).ns;
    sum += ns;
    longest = std::max(longest, ns);
  }
  return {unknown_ns + (n.op == "If" ? longest : sum), cost_source::unknown};
}

} // namespace sluice
