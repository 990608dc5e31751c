#include <sluice/scheduler/placement_timeline.hpp>

#include <algorithm>
#include <tuple>

namespace sluice {

namespace {

constexpr auto never = placement_problem::no_kernel;

} // namespace

placement_timeline::placement_timeline(const placement_problem& problem)
  : problem_(problem), devices_(static_cast<std::uint32_t>(problem.devices.size())) {
  producer_.assign(problem.values.size(), no_step);
  readers_.assign(problem.values.size(), 0);
  inputs_begin_.push_back(0);
  auto everything = 0.0;
  auto most_scratch = 0.0;
  for (std::uint32_t s = 0; s < problem.steps.size(); ++s) {
    const auto& step = problem.steps[s];
    auto begin = static_cast<std::ptrdiff_t>(inputs_.size());
    inputs_.insert(inputs_.end(), step.inputs.begin(), step.inputs.end());
    std::sort(inputs_.begin() + begin, inputs_.end());
    inputs_.erase(std::unique(inputs_.begin() + begin, inputs_.end()), inputs_.end());
    inputs_begin_.push_back(static_cast<std::uint32_t>(inputs_.size()));
    for (const auto v : inputs(s))
      ++readers_[v];
    auto made = static_cast<double>(step.scratch_bytes);
    most_scratch = std::max(most_scratch, made);
    for (const auto v : step.outputs) {
      producer_[v] = s;
      made += static_cast<double>(problem.values[v].bytes);
    }
    made_bytes_.push_back(made);
  }
  for (const auto& v : problem.values)
    everything += static_cast<double>(v.bytes);
  for (const auto& c : problem.constants)
    everything += static_cast<double>(c.bytes);

  link_.assign(std::size_t{devices_} * devices_, 0);
  engine_begin_.push_back(0);
  for (std::uint32_t l = 0; l < problem.links.size(); ++l) {
    link_[problem.links[l].from * devices_ + problem.links[l].to] = l;
    engine_begin_.push_back(engine_begin_.back() + problem.links[l].engines);
  }
  lane_begin_.push_back(0);
  for (const auto& device : problem.devices) {
    lane_begin_.push_back(lane_begin_.back() + device.lanes);
    watch_.push_back(everything + most_scratch * device.lanes > static_cast<double>(device.budget));
  }
  home_.resize(problem.values.size());
  probed_engine_.resize(problem.links.size());
  lane_gaps_.resize(lane_begin_.back());
  engine_gaps_.resize(engine_begin_.back());
  memory_.resize(devices_);
}

void placement_timeline::reset(bool recording) {
  const auto pairs = problem_.values.size() * devices_;
  ready_.assign(pairs, never);
  last_use_.assign(pairs, 0);
  pending_.assign(pairs, 0);
  weight_there_.assign(problem_.constants.size() * devices_, 0);
  for (auto& gaps : lane_gaps_)
    gaps.clear();
  for (auto& gaps : engine_gaps_)
    gaps.clear();
  score_ = {};
  for (std::uint32_t d = 0; d < devices_; ++d) {
    memory_[d].budget = static_cast<double>(problem_.devices[d].budget);
    memory_[d].weights = 0;
    memory_[d].held = 0;
    memory_[d].watched = watch_[d] || recording;
    memory_[d].events.clear();
  }
  for (std::size_t v = 0; v < problem_.values.size(); ++v)
    if (const auto fed = problem_.values[v].fed_on) {
      home_[v] = *fed;
      ready_[v * devices_ + *fed] = 0;
    }
}

void placement_timeline::add_weights(std::uint32_t step, std::uint32_t device) {
  for (const auto c : problem_.steps[step].constants) {
    auto& there = weight_there_[std::size_t{c} * devices_ + device];
    if (!there)
      memory_[device].weights += static_cast<double>(problem_.constants[c].bytes);
    there = 1;
  }
}

void placement_timeline::count_readers(std::span<const std::uint32_t> places) {
  for (std::size_t v = 0; v < problem_.values.size(); ++v)
    if (producer_[v] != no_step)
      home_[v] = places[producer_[v]];
  const auto reader = [&](std::uint32_t v, std::uint32_t d) {
    if (pending_[std::size_t{v} * devices_ + d]++ == 0 && d != home_[v])
      ++pending_[std::size_t{v} * devices_ + home_[v]]; // the transfer
  };
  for (std::uint32_t s = 0; s < places.size(); ++s)
    for (const auto v : inputs(s))
      reader(v, places[s]);
  for (std::uint32_t v = 0; v < problem_.values.size(); ++v)
    if (const auto wanted = problem_.values[v].result_on)
      reader(v, *wanted); // it never comes: a result stays
}

placement_timeline::score placement_timeline::lay_out(std::span<const std::uint32_t> places,
                                                      std::span<const std::uint32_t> order,
                                                      placement_schedule* record) {
  deciding_ = false;
  record_ = record;
  reset(record != nullptr);
  if (record) {
    *record = {};
    record->firings.resize(problem_.steps.size());
    record->link_bytes.assign(problem_.links.size(), 0);
  }
  count_readers(places);
  for (std::uint32_t s = 0; s < places.size(); ++s)
    add_weights(s, places[s]);
  for (const auto& m : memory_)
    score_.excess_bytes += std::max(0.0, m.weights - m.budget);
  for (std::uint32_t v = 0; v < problem_.values.size(); ++v)
    if (const auto& value = problem_.values[v];
        value.fed_on && value.result_on.value_or(*value.fed_on) != *value.fed_on)
      transfer(v, *value.fed_on, *value.result_on);
  for (const auto s : order)
    run(s, places[s]);
  if (record) {
    record->finish_ns = score_.finish_ns;
    record_peaks(*record);
    record->order.assign(order.begin(), order.end());
    std::stable_sort(record->order.begin(), record->order.end(), [&](auto a, auto b) {
      return record->firings[a].start_ns < record->firings[b].start_ns;
    });
  }
  record_ = nullptr;
  return score_;
}

/// When `device` has room for `bytes` from `from` on, for good: what is held now is let go only when its last
/// reader is laid out.
double placement_timeline::earliest(std::uint32_t device, double from, double bytes) {
  const auto& m = memory_[device];
  if (!m.watched || bytes == 0)
    return from;
  auto held = m.weights + m.held + bytes;
  if (held > m.budget)
    return m.events.empty() ? from : std::max(from, m.events.back().at); // over the budget whenever it starts
  for (auto e = m.events.rbegin(); e != m.events.rend() && e->at > from; ++e) {
    ++work_;
    held -= e->bytes;
    if (held > m.budget)
      return e->at;
  }
  return from;
}

void placement_timeline::hold(std::uint32_t device, double at, double bytes) {
  auto& m = memory_[device];
  if (!m.watched || bytes == 0)
    return;
  m.held += bytes;
  if (bytes > 0)
    score_.excess_bytes += std::max(0.0, m.weights + m.held - std::max(m.budget, m.weights));
  auto i = m.events.size();
  m.events.push_back({at, bytes});
  while (i > 0 &&
         (m.events[i - 1].at > at || (m.events[i - 1].at == at && bytes < 0 && m.events[i - 1].bytes > 0))) {
    m.events[i] = m.events[i - 1];
    --i;
    ++work_;
  }
  m.events[i] = {at, bytes};
}

/// The earliest start on a lane, and which.
std::pair<double, std::uint32_t> placement_timeline::find_lane(std::uint32_t device, double from,
                                                               double length, double bytes) {
  const auto first = lane_begin_[device];
  const auto last = lane_begin_[device + 1];
  auto lane = first;
  for (auto start = from;;) {
    auto gap = never;
    for (auto l = first; l < last; ++l)
      if (const auto at = lane_gaps_[l].find(start, length, work_); at < gap) {
        gap = at;
        lane = l;
      }
    start = earliest(device, gap, bytes);
    if (start == gap)
      return {start, lane};
  }
}

std::pair<double, std::uint32_t> placement_timeline::find_engine(std::uint32_t link, double from,
                                                                 double length) {
  auto best = std::pair{never, engine_begin_[link]};
  for (auto e = engine_begin_[link]; e < engine_begin_[link + 1]; ++e)
    best = std::min(best, {engine_gaps_[e].find(from, length, work_), e});
  return best;
}

void placement_timeline::transfer(std::uint32_t value, std::uint32_t from, std::uint32_t to) {
  const auto there = std::size_t{value} * devices_ + to;
  const auto here = std::size_t{value} * devices_ + from;
  const auto link = link_[from * devices_ + to];
  const auto bytes = static_cast<double>(problem_.values[value].bytes);
  const auto length = transfer_ns(value, from, to);
  auto [start, engine] = find_engine(link, ready_[here], length);
  for (auto room = earliest(to, start, bytes); room != start; room = earliest(to, start, bytes))
    std::tie(start, engine) = find_engine(link, room, length);
  const auto finish = start + length;
  engine_gaps_[engine].take(start, length, work_);
  hold(to, start, bytes);
  ready_[there] = last_use_[there] = finish;
  last_use_[here] = std::max(last_use_[here], finish);
  score_.finish_ns = std::max(score_.finish_ns, finish);
  score_.link_bytes += bytes;
  if (record_) {
    record_->transfers.push_back({value, link, engine - engine_begin_[link], start, finish});
    record_->link_bytes[link] += problem_.values[value].bytes;
  }
  if (!deciding_ && --pending_[here] == 0)
    let_go(value, from);
}

void placement_timeline::let_go(std::uint32_t value, std::uint32_t device) {
  if (problem_.values[value].fed_on != device && !problem_.devices[device].keeps_values)
    hold(device, last_use_[std::size_t{value} * devices_ + device],
         -static_cast<double>(problem_.values[value].bytes));
}

void placement_timeline::read(std::uint32_t value, std::uint32_t device, double at) {
  auto& last = last_use_[std::size_t{value} * devices_ + device];
  last = std::max(last, at);
  if (!deciding_) {
    if (--pending_[std::size_t{value} * devices_ + device] == 0)
      let_go(value, device);
    return;
  }
  if (--pending_total_[value] == 0)
    for (std::uint32_t d = 0; d < devices_; ++d)
      if (ready_[std::size_t{value} * devices_ + d] != never)
        let_go(value, d);
}

/// Sends what is not there yet, what was ready first before the rest.
void placement_timeline::bring_inputs(std::uint32_t s, std::uint32_t d) {
  for (;;) {
    auto first = no_step;
    auto ready = never;
    for (const auto v : inputs(s))
      if (ready_[std::size_t{v} * devices_ + d] == never)
        if (const auto made = ready_[std::size_t{v} * devices_ + home_[v]]; made < ready) {
          ready = made;
          first = v;
        }
    if (first == no_step)
      return;
    transfer(first, home_[first], d);
  }
}

void placement_timeline::run(std::uint32_t s, std::uint32_t d) {
  constexpr std::size_t parts = 32; // a step takes as long as so many looks at an event
  work_ += parts;
  const auto& step = problem_.steps[s];
  bring_inputs(s, d);
  auto from = 0.0;
  for (const auto v : inputs(s))
    from = std::max(from, ready_[std::size_t{v} * devices_ + d]);
  const auto [start, lane] = find_lane(d, from, step.time_ns[d], made_bytes_[s]);
  const auto finish = start + step.time_ns[d];
  lane_gaps_[lane].take(start, step.time_ns[d], work_);
  score_.finish_ns = std::max(score_.finish_ns, finish);
  hold(d, start, made_bytes_[s]);
  if (!problem_.devices[d].keeps_values)
    hold(d, finish, -static_cast<double>(step.scratch_bytes));
  if (record_)
    record_->firings[s] = {start, finish, lane - lane_begin_[d]};
  for (const auto v : inputs(s))
    read(v, d, finish);
  for (const auto v : step.outputs) {
    const auto here = std::size_t{v} * devices_ + d;
    home_[v] = d;
    ready_[here] = last_use_[here] = finish;
    if (deciding_ ? pending_total_[v] == 0 : pending_[here] == 0)
      let_go(v, d);
    else if (const auto wanted = problem_.values[v].result_on; wanted && *wanted != d)
      transfer(v, d, *wanted);
  }
}

void placement_timeline::begin(double reserve) {
  deciding_ = true;
  record_ = nullptr;
  reserve_ = reserve;
  reset(false);
  pending_total_ = readers_;
  for (std::size_t v = 0; v < problem_.values.size(); ++v)
    pending_total_[v] += problem_.values[v].result_on.has_value();
}

double placement_timeline::probe(std::uint32_t s, std::uint32_t d) {
  const auto& step = problem_.steps[s];
  if (step.time_ns[d] == never)
    return never;
  auto& m = memory_[d];
  auto bytes = made_bytes_[s];
  auto start = 0.0;
  missing_.clear();
  for (const auto v : inputs(s))
    if (const auto ready = ready_[std::size_t{v} * devices_ + d]; ready != never)
      start = std::max(start, ready);
    else {
      missing_.push_back({ready_[std::size_t{v} * devices_ + home_[v]], v});
      probed_engine_[link_[home_[v] * devices_ + d]] = 0;
    }
  std::sort(missing_.begin(), missing_.end());
  for (const auto& [made, v] : missing_) {
    const auto link = link_[home_[v] * devices_ + d];
    const auto length = transfer_ns(v, home_[v], d);
    const auto from = problem_.links[link].engines > 1 ? made : std::max(made, probed_engine_[link]);
    const auto sent = find_engine(link, from, length).first + length;
    probed_engine_[link] = sent;
    bytes += static_cast<double>(problem_.values[v].bytes);
    start = std::max(start, sent);
  }
  if (m.watched) {
    auto weights = m.weights;
    for (const auto c : step.constants)
      if (!weight_there_[std::size_t{c} * devices_ + d])
        weights += static_cast<double>(problem_.constants[c].bytes);
    if (weights + m.held + bytes > m.budget || weights > m.budget * (1 - reserve_))
      return never;
  }
  return find_lane(d, start, step.time_ns[d], bytes).first + step.time_ns[d];
}

void placement_timeline::commit(std::uint32_t step, std::uint32_t device) {
  add_weights(step, device);
  run(step, device);
}

void placement_timeline::record_peaks(placement_schedule& record) const {
  for (const auto& m : memory_) {
    auto held = m.weights;
    auto peak = held;
    for (const auto& e : m.events)
      peak = std::max(peak, held += e.bytes);
    record.peak_bytes.push_back(static_cast<std::size_t>(peak));
  }
}

} // namespace sluice
