#include "placed_models.hpp"

#include "files.hpp"

#include <sluice/devices/sim_device.hpp>
#include <sluice/graph/onnx_import.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace sluice::test {

namespace {

using std::chrono::nanoseconds;

/// Carries a placement out on simulated devices that share a clock.
class simulation {
public:
  simulation(const placement_problem& problem, const made_placement& made) : problem_(problem), made_(made) {
    for (const auto& d : problem.devices) {
      auto options = accelerator();
      options.rate = 1; // the problem's times are the device's own
      options.streams = d.lanes;
      devices_.push_back(std::make_unique<sim_device>(d.name, options, clock_));
    }
    std::size_t most = 1;
    for (const auto& v : problem.values)
      most = std::max(most, v.bytes);
    from_.resize(most);
    to_.resize(most);
  }

  double finish() {
    // In the order of the schedule; what begins at the same time, transfers first.
    std::vector<std::pair<double, std::function<void()>>> actions;
    for (const auto& t : made_.schedule.transfers)
      actions.emplace_back(t.start_ns, [this, &t] { send(t); });
    for (const auto s : made_.schedule.order)
      actions.emplace_back(made_.schedule.firings[s].start_ns, [this, s] { fire(s); });
    std::stable_sort(actions.begin(), actions.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [start, act] : actions)
      act();
    clock_->drain();
    auto last = nanoseconds{0};
    for (const auto& e : all_) {
      if (!e->done() || e->failure())
        throw std::runtime_error{"the placement cannot be carried out"};
      last = std::max(last, e->time());
    }
    return static_cast<double>(last.count());
  }

private:
  /// The event of a value on a device; none if it was there from the start.
  [[nodiscard]] std::vector<event_ptr> ready(std::uint32_t value, std::uint32_t device) const {
    const auto found = ready_.find({value, device});
    if (found != ready_.end())
      return {found->second};
    if (problem_.values[value].fed_on != device)
      throw std::runtime_error{"'" + problem_.values[value].name + "' is not there when it is needed"};
    return {};
  }

  device_stream& stream(std::uint32_t device, const std::string& use) {
    auto& s = streams_[{device, use}];
    if (!s)
      s = devices_[device]->make_stream();
    return *s;
  }

  void send(const placement_schedule::transfer& t) {
    const auto& link = problem_.links[t.link];
    const auto in = link.from == 0; // the host is the first device
    auto e = stream(in ? link.to : link.from, in ? "in" : "out")
                 .copy({.kind = in ? copy_kind::to_device : copy_kind::to_host,
                        .to = to_.data(),
                        .from = from_.data(),
                        .bytes = problem_.values[t.value].bytes,
                        .after = ready(t.value, link.from)});
    ready_[{t.value, link.to}] = e;
    all_.push_back(std::move(e));
  }

  void fire(std::uint32_t s) {
    const auto& step = problem_.steps[s];
    const auto d = made_.places[s];
    std::vector<event_ptr> after;
    for (const auto v : step.inputs)
      for (auto& e : ready(v, d))
        after.push_back(std::move(e));
    auto e = stream(d, "lane " + std::to_string(made_.schedule.firings[s].lane))
                 .enqueue({.run = [](const issue_context&) {},
                           .estimate = nanoseconds{static_cast<std::int64_t>(step.time_ns[d])},
                           .after = std::move(after)});
    for (const auto v : step.outputs)
      ready_[{v, d}] = e;
    all_.push_back(std::move(e));
  }

  const placement_problem& problem_;
  const made_placement& made_;
  const std::shared_ptr<sim_clock> clock_ = sim_clock::make();
  std::vector<std::unique_ptr<sim_device>> devices_;
  std::map<std::pair<std::uint32_t, std::string>, std::unique_ptr<device_stream>> streams_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, event_ptr> ready_; // by value and device
  std::vector<event_ptr> all_;
  std::vector<std::byte> from_;
  std::vector<std::byte> to_;
};

} // namespace

std::vector<placed_model> placed_models() {
  std::vector<placed_model> all;
  for (const std::string name : {"bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
                                 "shufflenet", "squeezenet", "vgg19", "zfnet512"})
    all.push_back({"light_" + name + ".onnx", {1, 3, 224, 224}});
  all.push_back({"ch_PP-OCRv4_det_infer.onnx", {1, 3, 640, 960}});
  all.push_back({"ch_PP-OCRv4_rec_infer.onnx", {1, 3, 48, 320}});
  all.push_back({"ch_ppocr_mobile_v2.0_cls_infer.onnx", {1, 3, 48, 192}});
  return all;
}

std::shared_ptr<const plan> plan_of(const placed_model& m) {
  const auto operators = standard_operators();
  const auto g = load_onnx(asset(m.file), operators->schemas());
  kernel_cache kernels{operators};
  plan_request request;
  const auto input = g->inputs()[0];
  request.fed.push_back({input, {g->at_edge(input).type.element(), m.input}, {}});
  request.fetch.assign(g->outputs().begin(), g->outputs().end());
  return make_plan(g, fold_constants(*g, *operators, memory::heap()), request, kernels);
}

sim_options accelerator() {
  sim_options o;
  o.rate = 10;
  o.bandwidth = 10e9;
  o.latency = std::chrono::microseconds{10};
  return o;
}

std::vector<described_device> cpu_and_accelerator(std::size_t budget) {
  const auto o = accelerator();
  return {describe_host(1),
          {.name = "sim:0",
           .lanes = o.streams,
           .budget = budget,
           .rate = o.rate,
           .bandwidth = o.bandwidth,
           .latency = o.latency}};
}

std::size_t need_of(const plan& p, bool kept) {
  auto everything = describe(p, cpu_and_accelerator(std::numeric_limits<std::size_t>::max())).problem;
  everything.devices[1].keeps_values = kept;
  for (auto& s : everything.steps)
    if (s.time_ns[1] != placement_problem::no_kernel)
      s.scope = "sim:0";
  return std::get<made_placement>(place(everything, {.effort = 0})).schedule.peak_bytes[1];
}

double simulated_finish(const placement_problem& problem, const made_placement& made) {
  return simulation{problem, made}.finish();
}

} // namespace sluice::test
