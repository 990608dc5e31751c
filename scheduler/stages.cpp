#include <sluice/scheduler/stages.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/scheduler/plan.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

namespace sluice {

namespace {

using index = staged_graph::index;

/// Places between steps that are looked at; segments between all pairs of them are.
constexpr std::size_t most_cuts = 160;

class segments {
public:
  explicit segments(const staged_graph& g) : graph_(g), last_reader_(g.values.size(), 0) {
    for (index s = 0; s < g.steps.size(); ++s)
      for (const auto v : g.steps[s].reads)
        last_reader_[v] = s;
  }

  /// Bytes of one item that are alive between steps `at - 1` and `at`.
  [[nodiscard]] std::uint64_t alive_at(index at) const {
    std::uint64_t bytes = 0;
    for (index v = 0; v < graph_.values.size(); ++v)
      if (made_before(v, at) && (last_reader_[v] >= at || graph_.values[v].result))
        bytes += graph_.values[v].bytes;
    return bytes;
  }

  [[nodiscard]] stage_plan::stage between(index first, index last) const {
    stage_plan::stage made{.first = first, .last = last};
    std::vector<bool> has_weight(graph_.weights.size(), false);
    std::map<index, index> ends; // by value of the segment: the step after which it goes
    std::uint64_t alive = 0;
    for (auto s = first; s < last; ++s)
      for (const auto v : graph_.steps[s].reads)
        if (made_before(v, first) && ends.try_emplace(v, std::min(last_reader_[v], last)).second) {
          made.in_bytes += graph_.values[v].bytes;
          alive += graph_.values[v].bytes;
        }
    for (auto s = first; s < last; ++s) {
      const auto& step = graph_.steps[s];
      for (const auto w : step.weights)
        if (!has_weight[w]) {
          has_weight[w] = true;
          made.weight_bytes += graph_.weights[w];
        }
      for (const auto v : step.makes) {
        const auto& value = graph_.values[v];
        const auto leaves = value.result || last_reader_[v] >= last;
        ends[v] = leaves ? last : std::max(s, last_reader_[v]);
        made.out_bytes += leaves ? value.bytes : 0;
        alive += value.bytes;
      }
      made.item_bytes = std::max(made.item_bytes, alive + step.scratch);
      for (auto v = ends.begin(); v != ends.end();) {
        // What came in is still outside, and may go as soon as nobody here reads it.
        const auto gone = v->second <= s || (v->second == last && made_before(v->first, first) &&
                                             !read_later(v->first, s + 1, last));
        if (gone)
          alive -= graph_.values[v->first].bytes;
        v = gone ? ends.erase(v) : std::next(v);
      }
    }
    return made;
  }

private:
  [[nodiscard]] bool made_before(index v, index step) const {
    return graph_.values[v].maker == staged_graph::fed || graph_.values[v].maker < step;
  }
  [[nodiscard]] bool read_later(index v, index from, index to) const {
    for (auto s = from; s < to; ++s)
      if (std::find(graph_.steps[s].reads.begin(), graph_.steps[s].reads.end(), v) !=
          graph_.steps[s].reads.end())
        return true;
    return false;
  }

  const staged_graph& graph_;
  std::vector<index> last_reader_;
};

/// Places where the graph may be cut, the ends among them.
std::vector<index> places_to_cut(const staged_graph& g, const segments& s) {
  const auto count = static_cast<index>(g.steps.size());
  std::vector<index> all(count + 1);
  std::iota(all.begin(), all.end(), index{0});
  if (all.size() <= most_cuts)
    return all;
  // Of each stretch of steps the place where least is alive.
  std::vector<index> chosen{0};
  const auto stretch = static_cast<double>(count) / static_cast<double>(most_cuts - 1);
  for (std::size_t i = 0; i + 1 < most_cuts; ++i) {
    const auto from = std::max<index>(1, static_cast<index>(stretch * static_cast<double>(i)));
    const auto to = std::min(count, static_cast<index>(stretch * static_cast<double>(i + 1)));
    auto best = from;
    auto least = std::numeric_limits<std::uint64_t>::max();
    for (auto at = from; at < to; ++at)
      if (const auto alive = s.alive_at(at); alive < least) {
        least = alive;
        best = at;
      }
    if (best > chosen.back() && best < count)
      chosen.push_back(best);
  }
  chosen.push_back(count);
  return chosen;
}

std::uint64_t kept_by_all(const segments& s, const std::vector<stage_plan::stage>& stages,
                          std::int64_t items) {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i + 1 < stages.size(); ++i)
    most = std::max(most, s.alive_at(stages[i].last) * static_cast<std::uint64_t>(items));
  return most;
}

/// The cheapest chain of stages of which each fits into `bytes`.
std::optional<std::vector<stage_plan::stage>> cheapest(const segments& all, const std::vector<index>& places,
                                                       std::uint64_t bytes, std::int64_t items) {
  struct arrival {
    double moved = std::numeric_limits<double>::infinity();
    std::size_t from = 0;
    stage_plan::stage last;
  };
  std::vector<arrival> best(places.size());
  best[0].moved = 0;
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    if (std::isinf(best[i].moved))
      continue;
    for (auto j = i + 1; j < places.size(); ++j) {
      const auto s = all.between(places[i], places[j]);
      if (s.weight_bytes + s.item_bytes > bytes) {
        if (s.weight_bytes > bytes)
          break; // more steps have more weights
        continue;
      }
      const auto moved = best[i].moved + static_cast<double>(s.weight_bytes) +
                         static_cast<double>(s.in_bytes + s.out_bytes) * static_cast<double>(items);
      if (moved < best[j].moved)
        best[j] = {moved, i, s};
    }
  }
  if (std::isinf(best.back().moved))
    return std::nullopt;
  std::vector<stage_plan::stage> stages;
  for (auto at = places.size() - 1; at > 0; at = best[at].from)
    stages.push_back(best[at].last);
  std::reverse(stages.begin(), stages.end());
  return stages;
}

std::string largest_step(const staged_graph& g, const segments& all) {
  std::uint64_t most = 0;
  for (index s = 0; s < g.steps.size(); ++s) {
    const auto one = all.between(s, s + 1);
    most = std::max(most, one.weight_bytes + one.item_bytes);
  }
  return std::to_string(most);
}

} // namespace

staged_graph staged_graph_of(const plan& p, std::int64_t items) {
  staged_graph made;
  const auto& g = *p.source;
  const auto each = static_cast<std::uint64_t>(std::max<std::int64_t>(1, items));
  const auto share = [each](std::uint64_t bytes) { return (bytes + each - 1) / each; };
  std::map<edge_index, index> value_of;
  std::map<const value_body*, index> weight_of;
  for (const auto& f : p.fed) {
    value_of[f.edge] = static_cast<index>(made.values.size());
    made.values.push_back({share(f.type.bytes().value_or(0)), staged_graph::fed, false});
  }
  for (const auto& s : p.steps) {
    if (s.node == no_node) // a transfer, which is none of the graph
      continue;
    const auto& n = g.at(s.node);
    const auto at = static_cast<index>(made.steps.size());
    staged_graph::step step;
    for (const auto& c : s.constants) {
      const auto [known, fresh] =
          weight_of.try_emplace(c.constant.body(), static_cast<index>(made.weights.size()));
      if (fresh)
        made.weights.push_back(c.constant.is(value_kind::tensor) ? c.constant.tensor().bytes() : 0);
      step.weights.push_back(known->second);
    }
    if (s.kernel && s.kernel->packed_bytes() > 0) {
      step.weights.push_back(static_cast<index>(made.weights.size()));
      made.weights.push_back(s.kernel->packed_bytes());
    }
    for (const auto e : n.inputs)
      if (const auto known = value_of.find(e); e != no_edge && known != value_of.end())
        step.reads.push_back(known->second);
    for (std::size_t port = 0; port < n.outputs.size(); ++port) {
      value_of[n.outputs[port]] = static_cast<index>(made.values.size());
      step.makes.push_back(static_cast<index>(made.values.size()));
      const auto result = std::find(p.fetch.begin(), p.fetch.end(), n.outputs[port]) != p.fetch.end();
      made.values.push_back({share(s.output_types[port].bytes().value_or(0)), at, result});
    }
    step.scratch = share(s.kernel ? s.kernel->traits().scratch_bytes : 0);
    step.ns = s.estimated_ns.value_or(0) / static_cast<double>(each);
    made.steps.push_back(std::move(step));
  }
  return made;
}

stage_plan plan_stages(const staged_graph& g, const stage_request& r) {
  stage_plan made;
  const segments all{g};
  const auto places = places_to_cut(g, all);
  auto bytes = r.budget;
  auto stages = cheapest(all, places, bytes, r.items);
  if (stages && !r.kept_elsewhere) {
    // What is kept takes from the same budget; once more with what that leaves.
    const auto kept = kept_by_all(all, *stages, r.items);
    bytes = r.budget > kept ? r.budget - kept : 0;
    stages = cheapest(all, places, bytes, r.items);
    if (stages && kept_by_all(all, *stages, r.items) > r.budget - bytes)
      stages.reset();
  }
  if (!stages) {
    made.reason = "the largest step alone takes " + largest_step(g, all) +
                  " bytes for one item, weights included, of " + std::to_string(bytes) +
                  (r.kept_elsewhere ? "" : " that what is kept between stages leaves of the budget");
    return made;
  }
  made.stages = std::move(*stages);
  made.kept_bytes = kept_by_all(all, made.stages, r.items);
  for (auto& s : made.stages) {
    const auto room = (bytes - s.weight_bytes) / std::max<std::uint64_t>(1, s.item_bytes);
    s.items = std::min(r.items, static_cast<std::int64_t>(
                                    std::min<std::uint64_t>(room, std::numeric_limits<std::int64_t>::max())));
    made.moved_bytes +=
        s.weight_bytes +
        (r.kept_elsewhere ? (s.in_bytes + s.out_bytes) * static_cast<std::uint64_t>(r.items) : 0);
  }
  made.moved_ns = static_cast<double>(made.moved_bytes) / r.bytes_per_ns;
  for (const auto& s : g.steps)
    made.computed_ns += s.ns * static_cast<double>(r.items);
  return made;
}

std::string to_string(const stage_plan& p) {
  if (p.stages.empty())
    return "no stages: " + p.reason + '\n';
  std::string text;
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    const auto& s = p.stages[i];
    text += "stage " + std::to_string(i + 1) + ": steps " + std::to_string(s.first) + " to " +
            std::to_string(s.last - 1) + ", weights " + std::to_string(s.weight_bytes) + " bytes, " +
            std::to_string(s.items) + " items a pass; an item brings " + std::to_string(s.in_bytes) +
            " bytes in and " + std::to_string(s.out_bytes) + " out\n";
  }
  return text + "moved: " + std::to_string(p.moved_bytes) + " bytes, " + std::to_string(p.moved_ns / 1e6) +
         " ms; kept between stages: at most " + std::to_string(p.kept_bytes) +
         " bytes; computing: " + std::to_string(p.computed_ns / 1e6) + " ms\n";
}

} // namespace sluice
