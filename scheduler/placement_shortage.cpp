#include <sluice/scheduler/placement_shortage.hpp>

#include <algorithm>
#include <set>

namespace sluice {

namespace {

/// Something held on a device for a time.
struct holding {
  placement_shortage::holder what;
  double from;
  double to;
};

class device_holdings {
public:
  device_holdings(const placement_problem& problem, std::span<const std::uint32_t> places,
                  const placement_schedule& schedule, std::uint32_t device)
    : problem_(problem), of_value_(problem.values.size(), none) {
    for (std::size_t s = 0; s < problem.steps.size(); ++s)
      if (places[s] == device)
        add_made(problem.steps[s], schedule.firings[s]);
    for (const auto& t : schedule.transfers)
      if (problem.links[t.link].to == device)
        add_value(t.value, t.start_ns, t.finish_ns);
    for (std::size_t s = 0; s < problem.steps.size(); ++s)
      if (places[s] == device)
        for (const auto v : problem.steps[s].inputs)
          extend(v, schedule.firings[s].finish_ns);
    for (const auto& t : schedule.transfers)
      if (problem.links[t.link].from == device)
        extend(t.value, t.finish_ns);
    for (std::uint32_t v = 0; v < problem.values.size(); ++v)
      if (problem.values[v].result_on == device)
        extend(v, schedule.finish_ns);
  }

  /// What is held at the moment at which that is most, the largest first.
  [[nodiscard]] std::vector<placement_shortage::holder> at_peak() const {
    std::vector<placement_shortage::holder> most;
    auto peak = std::size_t{0};
    for (const auto& moment : held_) {
      std::vector<placement_shortage::holder> now;
      auto bytes = std::size_t{0};
      for (const auto& h : held_)
        if (h.from <= moment.from && moment.from < h.to) {
          now.push_back(h.what);
          bytes += h.what.bytes;
        }
      if (bytes > peak) {
        peak = bytes;
        most = std::move(now);
      }
    }
    std::stable_sort(most.begin(), most.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return most;
  }

private:
  static constexpr auto none = ~std::size_t{0};

  void add(placement_shortage::holder what, double from, double to) {
    if (what.bytes > 0)
      held_.push_back({std::move(what), from, to});
  }

  void add_value(std::uint32_t v, double from, double to) {
    if (problem_.values[v].bytes == 0)
      return;
    of_value_[v] = held_.size();
    add({problem_.values[v].name, problem_.values[v].bytes}, from, to);
  }

  void add_made(const placement_problem::step& step, const placement_schedule::firing& at) {
    for (const auto v : step.outputs)
      add_value(v, at.start_ns, at.finish_ns);
    add({"scratch space of '" + step.name + "'", step.scratch_bytes}, at.start_ns, at.finish_ns);
    for (const auto c : step.constants)
      if (weights_.insert(c).second)
        add({problem_.constants[c].name, problem_.constants[c].bytes}, 0, placement_problem::no_kernel);
  }

  void extend(std::uint32_t v, double to) {
    if (of_value_[v] != none)
      held_[of_value_[v]].to = std::max(held_[of_value_[v]].to, to);
  }

  const placement_problem& problem_;
  std::vector<holding> held_;
  std::vector<std::size_t> of_value_;
  std::set<std::uint32_t> weights_;
};

} // namespace

placement_shortage find_shortage(const placement_problem& problem, std::span<const std::uint32_t> places,
                                 const placement_schedule& schedule) {
  placement_shortage found;
  for (std::uint32_t d = 0; d < problem.devices.size(); ++d) {
    const auto budget = problem.devices[d].budget;
    const auto peak = schedule.peak_bytes[d];
    if (peak > budget && peak - budget > found.lacking_bytes) {
      found.device = d;
      found.lacking_bytes = peak - budget;
      found.peak_bytes = peak;
    }
  }
  found.holders = device_holdings{problem, places, schedule, found.device}.at_peak();
  return found;
}

std::string placement_shortage::message(const placement_problem& problem) const {
  constexpr std::size_t shown = 5;
  const auto& where = problem.devices[device];
  auto text = "no placement fits: " + where.name + " lacks " + std::to_string(lacking_bytes) +
              " bytes of the " + std::to_string(peak_bytes) + " that it would hold, its budget is " +
              std::to_string(where.budget) + "; the largest are";
  for (std::size_t i = 0; i < std::min(shown, holders.size()); ++i)
    text += (i == 0 ? " " : ", ") + holders[i].name + " (" + std::to_string(holders[i].bytes) + ")";
  return text;
}

} // namespace sluice
