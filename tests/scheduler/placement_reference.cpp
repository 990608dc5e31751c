#include "tests/scheduler/placement_reference.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace sluice::test {

namespace {

constexpr auto never = placement_problem::no_kernel;

/// Times at which something with one or more lanes is busy.
class lanes {
public:
  explicit lanes(unsigned count) : busy_(count) {}

  /// The earliest start from `from` on, in a gap if it is long enough.
  [[nodiscard]] std::pair<double, std::size_t> find(double from, double length) const {
    auto best = std::pair{never, std::size_t{0}};
    for (std::size_t l = 0; l < busy_.size(); ++l) {
      auto start = from;
      for (const auto& [begin, end] : busy_[l]) {
        if (start + length <= begin)
          break;
        start = std::max(start, end);
      }
      best = std::min(best, {start, l});
    }
    return best;
  }

  void take(double start, double length, std::size_t lane) {
    if (length > 0)
      busy_[lane].emplace(start, start + length);
  }

private:
  std::vector<std::map<double, double>> busy_;
};

struct state {
  std::vector<lanes> devices;
  std::vector<lanes> links;
  std::vector<std::vector<double>> ready; // by value and device
  std::vector<std::uint32_t> home;        // by value
  double finish = 0;
};

class layout {
public:
  explicit layout(const placement_problem& problem) : problem_(problem) {}

  [[nodiscard]] state empty() const {
    state s;
    for (const auto& d : problem_.devices)
      s.devices.emplace_back(d.lanes);
    for (const auto& l : problem_.links)
      s.links.emplace_back(l.engines);
    s.ready.assign(problem_.values.size(), std::vector<double>(problem_.devices.size(), never));
    s.home.resize(problem_.values.size());
    for (std::size_t v = 0; v < problem_.values.size(); ++v)
      if (const auto fed = problem_.values[v].fed_on) {
        s.ready[v][*fed] = 0;
        s.home[v] = *fed;
      }
    return s;
  }

  [[nodiscard]] double transfer_ns(std::uint32_t v, std::size_t link) const {
    return problem_.links[link].latency_ns +
           static_cast<double>(problem_.values[v].bytes) / problem_.links[link].bytes_per_ns;
  }

  void bring(state& now, std::uint32_t v, std::uint32_t d) const {
    if (now.ready[v][d] != never)
      return;
    std::size_t link = 0;
    while (problem_.links[link].from != now.home[v] || problem_.links[link].to != d)
      ++link;
    const auto takes = transfer_ns(v, link);
    const auto [start, engine] = now.links[link].find(now.ready[v][now.home[v]], takes);
    now.links[link].take(start, takes, engine);
    now.ready[v][d] = start + takes;
    now.finish = std::max(now.finish, start + takes);
  }

  /// Puts `s` on `d`; answers when it finishes.
  double put(state& now, std::uint32_t s, std::uint32_t d) const {
    const auto& step = problem_.steps[s];
    auto from = 0.0;
    auto inputs = step.inputs;
    std::stable_sort(inputs.begin(), inputs.end(),
                     [&](auto a, auto b) { return now.ready[a][now.home[a]] < now.ready[b][now.home[b]]; });
    for (const auto v : inputs) {
      bring(now, v, d);
      from = std::max(from, now.ready[v][d]);
    }
    const auto [start, lane] = now.devices[d].find(from, step.time_ns[d]);
    const auto finish = start + step.time_ns[d];
    now.devices[d].take(start, step.time_ns[d], lane);
    now.finish = std::max(now.finish, finish);
    for (const auto v : step.outputs) {
      now.home[v] = d;
      now.ready[v][d] = finish;
      if (const auto wanted = problem_.values[v].result_on)
        bring(now, v, *wanted);
    }
    return finish;
  }

private:
  const placement_problem& problem_;
};

std::vector<std::vector<std::uint32_t>> readers_of(const placement_problem& p) {
  std::vector<std::uint32_t> producer(p.values.size(), ~0U);
  std::vector<std::vector<std::uint32_t>> readers(p.steps.size());
  for (std::uint32_t s = 0; s < p.steps.size(); ++s) {
    for (const auto v : p.steps[s].inputs)
      if (producer[v] != ~0U && std::find(readers[producer[v]].begin(), readers[producer[v]].end(), s) ==
                                    readers[producer[v]].end())
        readers[producer[v]].push_back(s);
    for (const auto v : p.steps[s].outputs)
      producer[v] = s;
  }
  return readers;
}

/// All places and orders, depth first; leaves a branch when even the least time to the end is too late.
class search {
public:
  explicit search(const placement_problem& p)
    : problem_(p), layout_(p), readers_(readers_of(p)), missing_(p.steps.size()) {
    rest_.resize(p.steps.size());
    for (auto s = p.steps.size(); s-- > 0;) {
      for (const auto r : readers_[s]) {
        rest_[s] = std::max(rest_[s], rest_[r]);
        ++missing_[r];
      }
      rest_[s] += *std::min_element(p.steps[s].time_ns.begin(), p.steps[s].time_ns.end());
    }
  }

  double run(double bound) {
    best_ = bound;
    auto start = layout_.empty();
    for (std::uint32_t v = 0; v < problem_.values.size(); ++v)
      if (const auto& value = problem_.values[v]; value.fed_on && value.result_on)
        layout_.bring(start, v, *value.result_on);
    std::vector<std::uint32_t> ready;
    for (std::uint32_t s = 0; s < missing_.size(); ++s)
      if (missing_[s] == 0)
        ready.push_back(s);
    descend(start, ready);
    return best_;
  }

private:
  void descend(const state& now, const std::vector<std::uint32_t>& ready) {
    if (ready.empty()) {
      best_ = std::min(best_, now.finish);
      return;
    }
    for (const auto s : ready)
      for (std::uint32_t d = 0; d < problem_.devices.size(); ++d) {
        if (problem_.steps[s].time_ns[d] == never)
          continue;
        auto next = now;
        const auto finish = layout_.put(next, s, d);
        auto least = next.finish;
        for (const auto r : readers_[s])
          least = std::max(least, finish + rest_[r]);
        if (least >= best_ * (1 - 1e-9))
          continue;
        auto then = ready;
        then.erase(std::find(then.begin(), then.end(), s));
        for (const auto r : readers_[s])
          if (--missing_[r] == 0)
            then.push_back(r);
        descend(next, then);
        for (const auto r : readers_[s])
          ++missing_[r];
      }
  }

  const placement_problem& problem_;
  const layout layout_;
  const std::vector<std::vector<std::uint32_t>> readers_;
  std::vector<std::uint32_t> missing_;
  std::vector<double> rest_; // least time from the start of a step to the end
  double best_ = never;
};

} // namespace

double heft_finish(const placement_problem& p) {
  const layout lay{p};
  const auto readers = readers_of(p);
  std::vector<double> rank(p.steps.size());
  for (auto s = p.steps.size(); s-- > 0;) {
    auto sum = 0.0;
    auto count = 0.0;
    for (const auto t : p.steps[s].time_ns)
      if (t != never) {
        sum += t;
        ++count;
      }
    auto sending = 0.0;
    for (const auto v : p.steps[s].outputs)
      for (std::size_t l = 0; l < p.links.size(); ++l)
        sending += lay.transfer_ns(v, l) / static_cast<double>(p.links.size());
    for (const auto r : readers[s])
      rank[s] = std::max(rank[s], sending + rank[r]);
    rank[s] += sum / count;
  }
  std::vector<std::uint32_t> order(p.steps.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return rank[a] > rank[b]; });
  auto now = lay.empty();
  for (const auto s : order) {
    auto best = never;
    state chosen;
    for (std::uint32_t d = 0; d < p.devices.size(); ++d) {
      if (p.steps[s].time_ns[d] == never)
        continue;
      auto next = now;
      if (const auto finish = lay.put(next, s, d); finish < best) {
        best = finish;
        chosen = std::move(next);
      }
    }
    now = std::move(chosen);
  }
  return now.finish;
}

double least_finish(const placement_problem& problem) {
  return search{problem}.run(heft_finish(problem) * (1 + 1e-6));
}

} // namespace sluice::test
