#include <sluice/scheduler/plan_measurement.hpp>

#include <sluice/devices/executor.hpp>
#include <sluice/devices/kernel_context.hpp>
#include <sluice/scheduler/cost_model.hpp>
#include <sluice/scheduler/evaluate.hpp>
#include <sluice/scheduler/plan.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>

namespace sluice {

namespace {

using clock = std::chrono::steady_clock;

double ns_since(clock::time_point start) {
  return std::chrono::duration<double, std::nano>(clock::now() - start).count();
}

double median(std::vector<double>& of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

/// Keeps blocks for whoever asks for as many bytes next: what is measured is kernels, not the system's page
/// faults. For one thread at a time.
class kept_blocks final : public memory {
public:
  ~kept_blocks() override {
    for (const auto& [bytes, blocks] : free_)
      for (auto* b : blocks)
        heap().deallocate(b, bytes);
  }

  void* allocate(std::size_t bytes) override {
    auto& blocks = free_[bytes];
    if (blocks.empty())
      return heap().allocate(bytes);
    auto* b = blocks.back();
    blocks.pop_back();
    return b;
  }

  void deallocate(void* block, std::size_t bytes) noexcept override {
    try {
      free_[bytes].push_back(block);
    } catch (const std::bad_alloc&) {
      heap().deallocate(block, bytes);
    }
  }

private:
  std::map<std::size_t, std::vector<void*>> free_;
};

class measurement final : public job {
public:
  measurement(const plan& p, const operator_library& operators, std::span<const value> feeds,
              const measuring_effort& effort)
    : plan_(p), operators_(operators), feeds_(feeds), effort_(effort), last_reader_(p.source->edges().size()),
      step_ns_(p.steps.size()) {
    for (std::uint32_t s = 0; s < p.steps.size(); ++s)
      for (const auto e : node_of(s).inputs)
        if (e != no_edge)
          last_reader_[e] = s;
    for (const auto e : p.fetch)
      last_reader_[e] = plan::no_step;
  }

  [[nodiscard]] std::future<void> done() { return done_.get_future(); }

  void run(worker& here) noexcept override {
    auto done = std::move(done_); // who waits may be gone before a set_value() on a member returns
    try {
      measure(here);
      done.set_value();
    } catch (...) {
      done.set_exception(std::current_exception());
    }
  }

  plan_times wait(std::future<void> done) {
    done.get();
    plan_times times;
    for (auto& ns : step_ns_)
      times.step_ns.push_back(median(ns));
    times.rounds = round_ns_.size();
    times.serial_ns = median(round_ns_);
    return times;
  }

private:
  [[nodiscard]] const graph::node& node_of(std::uint32_t s) const {
    return plan_.source->at(plan_.steps[s].node);
  }

  void measure(worker& here) {
    round(here, false);
    const auto start = clock::now();
    while (round_ns_.size() < std::max<std::size_t>(effort_.least_rounds, 1) ||
           (round_ns_.size() < effort_.most_rounds && ns_since(start) < effort_.seconds * 1e9)) {
      round(here, true);
      if (effort_.done)
        effort_.done(round_ns_.size());
    }
  }

  void round(worker& here, bool counts) {
    std::vector<value> values(plan_.source->edges().size());
    for (std::size_t f = 0; f < plan_.fed.size(); ++f)
      values[plan_.fed[f].edge] = feeds_[f];
    const auto start = clock::now();
    for (std::uint32_t s = 0; s < plan_.steps.size(); ++s) {
      const auto begin = clock::now();
      step(s, values, here);
      if (counts)
        step_ns_[s].push_back(ns_since(begin));
    }
    if (counts)
      round_ns_.push_back(ns_since(start));
  }

  void step(std::uint32_t s, std::vector<value>& values, worker& here) {
    const auto& n = node_of(s);
    const auto& planned = plan_.steps[s];
    std::vector<value> inputs(n.inputs.size());
    for (const auto& c : planned.constants)
      inputs[c.port] = c.constant;
    for (std::size_t port = n.inputs.size(); port-- > 0;)
      if (const auto e = n.inputs[port]; e != no_edge && inputs[port].empty())
        inputs[port] = is_last(s, n, port) ? std::move(values[e]) : values[e];
    std::vector<value> outputs(n.outputs.size());
    if (planned.kernel)
      execute(n, planned, inputs, outputs, here);
    else
      outputs = evaluate(operators_, n, inputs, *memory_);
    for (std::size_t i = 0; i < n.outputs.size(); ++i)
      if (last_reader_[n.outputs[i]] > s)
        values[n.outputs[i]] = std::move(outputs[i]);
  }

  /// True if nobody reads what comes in at `port` after this, the same step at an earlier port included.
  [[nodiscard]] bool is_last(std::uint32_t s, const graph::node& n, std::size_t port) const {
    const auto e = n.inputs[port];
    const auto before = n.inputs.begin() + static_cast<std::ptrdiff_t>(port);
    return last_reader_[e] == s && std::find(n.inputs.begin(), before, e) == before;
  }

  void execute(const graph::node& n, const plan_step& planned, std::span<value> inputs,
               std::span<value> outputs, worker& here) {
    const auto& traits = planned.kernel->traits();
    intrusive_ptr<tensor> scratch;
    if (traits.scratch_bytes > 0)
      scratch =
          tensor::make(element_type::uint8, {static_cast<std::int64_t>(traits.scratch_bytes)}, *memory_);
    std::vector<value_type> late;
    if (!std::all_of(planned.output_types.begin(), planned.output_types.end(),
                     [](const value_type& t) { return t.concrete() || !t.is_tensor(); }))
      late = infer(n, inputs);
    kernel_context ctx{{.inputs = inputs,
                        .outputs = outputs,
                        .output_types = late.empty() ? planned.output_types : late,
                        .in_place = traits.in_place,
                        .allocate_from = *memory_,
                        .scratch = scratch ? static_cast<std::byte*>(scratch->raw()) : nullptr,
                        .thread = &here,
                        .width = plan_.width}};
    if (planned.kernel->execute(ctx) != completion::done)
      throw error{errc::unsupported, "node " + title(n) + " cannot be measured: it must wait"};
  }

  static std::vector<value_type> infer(const graph::node& n, std::span<const value> inputs) {
    std::vector<value_type> types;
    for (const auto& v : inputs)
      types.push_back(value_type::of(v));
    std::vector<const value_type*> present;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      present.push_back(inputs[i].empty() ? nullptr : &types[i]);
    return infer_outputs(n, present, inputs);
  }

  const plan& plan_;
  const operator_library& operators_;
  const std::span<const value> feeds_;
  const measuring_effort& effort_;
  std::vector<std::uint32_t> last_reader_; // by edge; 0 also where there is none
  const intrusive_ptr<memory> memory_{new kept_blocks};
  std::vector<std::vector<double>> step_ns_;
  std::vector<double> round_ns_;
  std::promise<void> done_;
};

} // namespace

plan_times measure(const plan& p, const operator_library& operators, std::span<const value> feeds,
                   executor& where, const measuring_effort& effort) {
  if (feeds.size() != p.fed.size())
    throw error{errc::invalid_argument, "the plan is fed " + std::to_string(p.fed.size()) + " values, not " +
                                            std::to_string(feeds.size())};
  measurement m{p, operators, feeds, effort};
  auto done = m.done();
  where.submit(m);
  return m.wait(std::move(done));
}

void record(const plan& p, const plan_times& times, kernel_profile& into) {
  std::map<kernel_id, std::pair<kernel_profile::time, std::vector<double>>> seen; // nodes may share a kernel
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    const auto cost = firing_cost(p, p.steps[s]);
    if (!cost || !p.steps[s].kernel)
      continue;
    auto& [time, all] = seen[id_of(p, p.steps[s])];
    time = {0, cost->flops, cost->bytes};
    all.push_back(times.step_ns[s]);
  }
  for (auto& [id, kernel] : seen) {
    kernel.first.ns = median(kernel.second);
    into.put(id, kernel.first);
  }
}

} // namespace sluice
