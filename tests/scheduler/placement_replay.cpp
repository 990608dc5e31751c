#include "tests/scheduler/placement_replay.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace sluice::test {

namespace {

using on_device = std::pair<std::uint32_t, std::uint32_t>; // value or constant, device

/// Something that begins or ends. Of the same moment, ends come first; what takes no time begins and ends in
/// the order of the graph.
struct event {
  double at;
  bool ends;
  bool is_transfer;
  std::uint32_t index; // of step or transfer

  friend bool operator<(const event& a, const event& b) {
    return std::tie(a.at, b.ends, a.index) < std::tie(b.at, a.ends, b.index);
  }
};

class machine {
public:
  machine(const placement_problem& problem, const made_placement& made)
    : problem_(problem), made_(made), running_(problem.devices.size()), busy_(problem.links.size()),
      held_(problem.devices.size()) {
    result_.peak_bytes.resize(problem.devices.size());
    result_.link_bytes.resize(problem.links.size());
  }

  replayed run() {
    count_uses();
    load();
    std::vector<event> events;
    for (std::uint32_t s = 0; s < problem_.steps.size(); ++s)
      add(events, false, s, made_.schedule.firings[s].start_ns, made_.schedule.firings[s].finish_ns,
          problem_.steps[s].time_ns[made_.places[s]], "step '" + problem_.steps[s].name + "'");
    for (std::uint32_t t = 0; t < made_.schedule.transfers.size(); ++t) {
      const auto& transfer = made_.schedule.transfers[t];
      const auto& link = problem_.links[transfer.link];
      const auto bytes = static_cast<double>(problem_.values[transfer.value].bytes);
      add(events, true, t, transfer.start_ns, transfer.finish_ns, link.latency_ns + bytes / link.bytes_per_ns,
          "transfer of '" + problem_.values[transfer.value].name + "'");
    }
    std::stable_sort(events.begin(), events.end());
    for (const auto& e : events)
      happen(e);
    finish();
    return std::move(result_);
  }

private:
  void fault(std::string what) { result_.faults.push_back(std::move(what)); }

  void add(std::vector<event>& events, bool is_transfer, std::uint32_t index, double start, double finish,
           double takes, const std::string& title) {
    if (std::abs(finish - start - takes) > 1e-6 * (1 + std::abs(finish)))
      fault(title + " takes another time than it must");
    if (start < 0)
      fault(title + " starts before the beginning");
    events.push_back({start, false, is_transfer, index});
    events.push_back({finish, true, is_transfer, index});
    result_.finish_ns = std::max(result_.finish_ns, finish);
  }

  void count_uses() {
    for (std::size_t s = 0; s < problem_.steps.size(); ++s)
      for (const auto v :
           std::set<std::uint32_t>{problem_.steps[s].inputs.begin(), problem_.steps[s].inputs.end()})
        ++uses_[{v, made_.places[s]}];
    for (const auto& t : made_.schedule.transfers)
      ++uses_[{t.value, problem_.links[t.link].from}];
    for (std::uint32_t v = 0; v < problem_.values.size(); ++v)
      if (const auto wanted = problem_.values[v].result_on)
        ++uses_[{v, *wanted}];
  }

  void load() {
    std::set<on_device> weights;
    for (std::size_t s = 0; s < problem_.steps.size(); ++s)
      for (const auto c : problem_.steps[s].constants)
        if (weights.insert({c, made_.places[s]}).second)
          hold(made_.places[s], problem_.constants[c].bytes);
    for (std::uint32_t v = 0; v < problem_.values.size(); ++v)
      if (const auto fed = problem_.values[v].fed_on)
        there_.insert({v, *fed});
  }

  void hold(std::uint32_t device, std::size_t bytes) {
    held_[device] += bytes;
    result_.peak_bytes[device] = std::max(result_.peak_bytes[device], held_[device]);
    if (held_[device] > problem_.devices[device].budget)
      fault("'" + problem_.devices[device].name + "' holds more than its budget");
  }

  void used(std::uint32_t value, std::uint32_t device) {
    if (--uses_[{value, device}] == 0 && problem_.values[value].fed_on != device)
      held_[device] -= problem_.values[value].bytes;
  }

  void happen(const event& e) {
    if (e.is_transfer)
      e.ends ? end_transfer(made_.schedule.transfers[e.index])
             : begin_transfer(made_.schedule.transfers[e.index]);
    else
      e.ends ? end_step(e.index) : begin_step(e.index);
  }

  void begin_transfer(const placement_schedule::transfer& t) {
    const auto& link = problem_.links[t.link];
    if (!there_.contains({t.value, link.from}))
      fault("'" + problem_.values[t.value].name + "' is sent before it is there");
    if (!sent_.insert({t.value, link.to}).second)
      fault("'" + problem_.values[t.value].name + "' is sent twice to one device");
    if (++busy_[t.link] > link.engines)
      fault("a link sends more at once than it has engines");
    hold(link.to, problem_.values[t.value].bytes);
    result_.link_bytes[t.link] += problem_.values[t.value].bytes;
  }

  void end_transfer(const placement_schedule::transfer& t) {
    const auto& link = problem_.links[t.link];
    --busy_[t.link];
    there_.insert({t.value, link.to});
    used(t.value, link.from);
  }

  void begin_step(std::uint32_t s) {
    const auto& step = problem_.steps[s];
    const auto device = made_.places[s];
    for (const auto v : step.inputs)
      if (!there_.contains({v, device}))
        fault("step '" + step.name + "' starts before '" + problem_.values[v].name + "' is there");
    if (++running_[device] > problem_.devices[device].lanes)
      fault("'" + problem_.devices[device].name + "' runs more at once than it has lanes");
    auto bytes = step.scratch_bytes;
    for (const auto v : step.outputs)
      bytes += problem_.values[v].bytes;
    hold(device, bytes);
  }

  void end_step(std::uint32_t s) {
    const auto& step = problem_.steps[s];
    const auto device = made_.places[s];
    --running_[device];
    held_[device] -= step.scratch_bytes;
    for (const auto v : std::set<std::uint32_t>{step.inputs.begin(), step.inputs.end()})
      used(v, device);
    for (const auto v : step.outputs) {
      there_.insert({v, device});
      if (!uses_.contains({v, device}))
        held_[device] -= problem_.values[v].bytes;
    }
  }

  void finish() {
    for (std::uint32_t v = 0; v < problem_.values.size(); ++v)
      if (const auto wanted = problem_.values[v].result_on; wanted && !there_.contains({v, *wanted}))
        fault("result '" + problem_.values[v].name + "' never reaches its device");
  }

  const placement_problem& problem_;
  const made_placement& made_;
  replayed result_;
  std::set<on_device> there_;
  std::set<on_device> sent_;
  std::map<on_device, int> uses_;
  std::vector<unsigned> running_;
  std::vector<unsigned> busy_;
  std::vector<std::size_t> held_;
};

} // namespace

replayed replay(const placement_problem& problem, const made_placement& made) {
  return machine{problem, made}.run();
}

} // namespace sluice::test
