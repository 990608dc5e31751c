#include <sluice/scheduler/placement_cuts.hpp>
#include <sluice/scheduler/placement_starts.hpp>

#include <algorithm>
#include <limits>

namespace sluice {

namespace {

constexpr auto endless = std::numeric_limits<double>::infinity();

/// A minimum cut by Dinic's blocking flows.
class flow_network {
public:
  std::uint32_t add_vertex() {
    first_.push_back(none);
    return static_cast<std::uint32_t>(first_.size() - 1);
  }

  /// To be paid if `from` is on the source's side and `to` is not.
  void add_arc(std::uint32_t from, std::uint32_t to, double capacity) {
    if (capacity <= 0)
      return;
    add_half(from, to, capacity);
    add_half(to, from, 0);
  }

  /// The vertices on the source's side of a minimum cut.
  std::vector<bool> cut(std::uint32_t source, std::uint32_t sink) {
    while (find_levels(source, sink)) {
      next_ = first_;
      while (push(source, sink)) {
      }
    }
    std::vector<bool> side(first_.size());
    for (std::size_t v = 0; v < side.size(); ++v)
      side[v] = level_[v] != none;
    return side;
  }

private:
  static constexpr auto none = ~std::uint32_t{0};
  static constexpr auto tiny = 1e-9; // less is what rounding left

  struct arc {
    std::uint32_t to;
    std::uint32_t next;
    double left;
  };

  void add_half(std::uint32_t from, std::uint32_t to, double capacity) {
    arcs_.push_back({to, first_[from], capacity});
    first_[from] = static_cast<std::uint32_t>(arcs_.size() - 1);
  }

  bool find_levels(std::uint32_t source, std::uint32_t sink) {
    level_.assign(first_.size(), none);
    level_[source] = 0;
    queue_.assign(1, source);
    for (std::size_t i = 0; i < queue_.size(); ++i)
      for (auto a = first_[queue_[i]]; a != none; a = arcs_[a].next)
        if (arcs_[a].left > tiny && level_[arcs_[a].to] == none) {
          level_[arcs_[a].to] = level_[queue_[i]] + 1;
          queue_.push_back(arcs_[a].to);
        }
    return level_[sink] != none;
  }

  /// Fills one way from source to sink; false if there is none left.
  bool push(std::uint32_t source, std::uint32_t sink) {
    path_.clear();
    for (auto v = source; v != sink;) {
      auto& a = next_[v];
      while (a != none && !(arcs_[a].left > tiny && level_[arcs_[a].to] == level_[v] + 1))
        a = arcs_[a].next;
      if (a != none) {
        path_.push_back(a);
        v = arcs_[a].to;
      } else if (v == source) {
        return false;
      } else {
        level_[v] = none; // a dead end
        v = arcs_[path_.back() ^ 1U].to;
        path_.pop_back();
      }
    }
    auto amount = endless;
    for (const auto a : path_)
      amount = std::min(amount, arcs_[a].left);
    for (const auto a : path_) {
      arcs_[a].left -= amount;
      arcs_[a ^ 1U].left += amount;
    }
    return true;
  }

  std::vector<arc> arcs_; // each followed by its reverse
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> level_;
  std::vector<std::uint32_t> queue_;
  std::vector<std::uint32_t> path_;
};

/// The network of a problem: units on the source's side go to the first device.
class parting {
public:
  parting(const placement_problem& problem, const placement_units& units, const placement_timeline& timeline,
          std::uint32_t first, std::uint32_t second, const placement_prices& prices)
    : problem_(problem), units_(units), timeline_(timeline), first_(first), second_(second), prices_(prices),
      source_(network_.add_vertex()), sink_(network_.add_vertex()), readers_(problem.values.size()) {}

  std::vector<std::uint32_t> run() {
    for (const auto& unit : units_.units)
      add_unit(unit);
    for (std::uint32_t s = 0; s < problem_.steps.size(); ++s)
      for (const auto v : timeline_.inputs(s))
        readers_[v].push_back(vertex_of(s));
    for (std::uint32_t v = 0; v < problem_.values.size(); ++v)
      add_value(v);
    const auto side = network_.cut(source_, sink_);
    auto places = place_on_one(problem_, units_, first_);
    for (std::size_t u = 0; u < units_.units.size(); ++u)
      if (may_second(units_.units[u]) && !side[vertex(u)])
        for (const auto s : units_.units[u].steps)
          places[s] = second_;
    return places;
  }

private:
  [[nodiscard]] static bool may(const placement_units::unit& unit, std::uint32_t device) {
    return std::find(unit.allowed.begin(), unit.allowed.end(), device) != unit.allowed.end();
  }
  /// A unit without another place may go to the second device whatever it holds there.
  [[nodiscard]] bool may_second(const placement_units::unit& unit) const {
    return may(unit, second_) &&
           (!may(unit, first_) || std::all_of(unit.steps.begin(), unit.steps.end(), [&](std::uint32_t s) {
             return timeline_.held_bytes(s) <= prices_.most_bytes;
           }));
  }
  [[nodiscard]] static std::uint32_t vertex(std::size_t unit) { return static_cast<std::uint32_t>(unit + 2); }
  [[nodiscard]] std::uint32_t vertex_of(std::uint32_t step) const { return vertex(units_.unit_of[step]); }

  void add_unit(const placement_units::unit& unit) {
    const auto v = network_.add_vertex();
    const auto on_first = may(unit, first_);
    const auto on_second = may_second(unit);
    auto cost_first = 0.0;
    auto cost_second = 0.0;
    for (const auto s : unit.steps) {
      const auto& step = problem_.steps[s];
      cost_first += prices_.time * step.time_ns[first_];
      cost_second += prices_.time * step.time_ns[second_];
      for (const auto c : step.constants)
        cost_second += prices_.weight_byte * static_cast<double>(problem_.constants[c].bytes);
      for (const auto o : step.outputs)
        cost_second += prices_.value_byte * static_cast<double>(problem_.values[o].bytes);
    }
    network_.add_arc(v, sink_, on_first || !on_second ? cost_first_or_free(on_first, cost_first) : endless);
    network_.add_arc(source_, v, on_second ? cost_second : endless);
  }

  /// A unit that may go to neither device stands with the first, at no cost.
  [[nodiscard]] static double cost_first_or_free(bool on_first, double cost) { return on_first ? cost : 0; }

  /// One transfer if any reader is not where the value is made.
  void add_value(std::uint32_t v) {
    const auto& value = problem_.values[v];
    auto home = source_;
    if (const auto p = timeline_.producer(v); p != placement_timeline::no_step)
      home = vertex_of(p);
    else if (value.fed_on == second_)
      home = sink_;
    auto readers = readers_[v];
    if (value.result_on == first_)
      readers.push_back(source_);
    else if (value.result_on == second_)
      readers.push_back(sink_);
    if (readers.empty())
      return;
    const auto there = network_.add_vertex(); // with the sink if any reader is
    const auto back = network_.add_vertex();  // with the source if any reader is
    network_.add_arc(home, there, timeline_.transfer_ns(v, first_, second_));
    network_.add_arc(back, home, timeline_.transfer_ns(v, second_, first_));
    for (const auto r : readers) {
      network_.add_arc(there, r, endless);
      network_.add_arc(r, back, endless);
    }
  }

  const placement_problem& problem_;
  const placement_units& units_;
  const placement_timeline& timeline_;
  const std::uint32_t first_;
  const std::uint32_t second_;
  const placement_prices prices_;
  flow_network network_;
  const std::uint32_t source_;
  const std::uint32_t sink_;
  std::vector<std::vector<std::uint32_t>> readers_; // vertices, by value
};

} // namespace

std::vector<std::uint32_t> place_by_cut(const placement_problem& problem, const placement_units& units,
                                        const placement_timeline& timeline, std::uint32_t first,
                                        std::uint32_t second, const placement_prices& prices) {
  return parting{problem, units, timeline, first, second, prices}.run();
}

} // namespace sluice
