#include <sluice/scheduler/placement_search.hpp>

#include <algorithm>
#include <cmath>

namespace sluice {

void placement_archive::add(const placement_candidate& c) {
  if (!kept_.empty() && kept_.front().fits() != c.fits()) {
    if (!c.fits())
      return;
    kept_.clear();
  }
  if (!c.fits()) {
    if (kept_.empty() || c.score.excess_bytes < kept_.front().score.excess_bytes)
      kept_.assign(1, c);
    return;
  }
  const auto later = [](double finish, const placement_candidate& k) { return finish < k.score.finish_ns; };
  const auto at = std::upper_bound(kept_.begin(), kept_.end(), c.score.finish_ns, later);
  if (at != kept_.begin() &&
      (std::prev(at)->score.link_bytes <= c.score.link_bytes || c.score.finish_ns > limit()))
    return;
  const auto first = at - kept_.begin();
  kept_.insert(at, c);
  const auto worse = [&](const placement_candidate& k) { return k.score.link_bytes >= c.score.link_bytes; };
  kept_.erase(std::remove_if(kept_.begin() + first + 1, kept_.end(), worse), kept_.end());
  while (kept_.size() > 1 && kept_.back().score.finish_ns > limit())
    kept_.pop_back();
}

double placement_archive::limit() const {
  const auto fastest = kept_.front().score.finish_ns;
  return std::max(fastest, std::min(fastest * (1 + slack_), bound_));
}

const placement_candidate& placement_archive::frugal() const {
  auto chosen = kept_.begin();
  for (auto k = kept_.begin(); k != kept_.end(); ++k)
    if (k->score.finish_ns <= limit())
      chosen = k;
  return *chosen;
}

placement_search::placement_search(const placement_problem& problem, const placement_units& units,
                                   placement_timeline& timeline, placement_archive& archive)
  : units_(units), timeline_(timeline), archive_(archive), next_steps_(problem.steps.size()),
    next_units_(units.units.size()), turn_(problem.steps.size()), seen_(units.units.size()) {
  for (std::uint32_t u = 0; u < units.units.size(); ++u)
    if (units.units[u].allowed.size() > 1)
      movable_.push_back(u);
  for (std::uint32_t s = 0; s < problem.steps.size(); ++s)
    for (const auto v : timeline.inputs(s))
      if (const auto p = timeline.producer(v); p != placement_timeline::no_step) {
        next_steps_[s].push_back(p);
        next_steps_[p].push_back(s);
        next_units_[units.unit_of[s]].push_back(units.unit_of[p]);
        next_units_[units.unit_of[p]].push_back(units.unit_of[s]);
      }
  for (const auto& v : problem.values)
    all_bytes_ += static_cast<double>(v.bytes);
  for (const auto& c : problem.constants)
    all_bytes_ += static_cast<double>(c.bytes);
}

/// SplitMix64: the same everywhere, unlike the standard distributions.
std::uint64_t placement_search::random(std::uint64_t below) {
  auto z = state_ += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return (z ^ (z >> 31)) % below;
}

double placement_search::random_unit() {
  constexpr std::uint64_t parts = std::uint64_t{1} << 32;
  return static_cast<double>(random(parts)) / static_cast<double>(parts);
}

/// In parts of what the search began with, so that temperatures mean the same everywhere. What does not fit
/// is worse, but can be passed through.
double placement_search::energy(const placement_timeline::score& s, goal g, const scale& by) const {
  const auto over = s.excess_bytes > 0 ? 0.1 + 10 * s.excess_bytes / all_bytes_ : 0;
  if (g == goal::earlier)
    return s.finish_ns / by.finish + 0.002 * s.link_bytes / all_bytes_ + over;
  const auto late = std::max(0.0, s.finish_ns / by.limit - 1);
  return s.link_bytes / by.bytes + (late > 0 ? 0.02 + 20 * late : 0) + 0.002 * s.finish_ns / by.finish + over;
}

void placement_search::improve(placement_candidate from, goal g, std::size_t work) {
  const auto take_turns = [this](const placement_candidate& c) {
    for (std::uint32_t i = 0; i < c.order.size(); ++i)
      turn_[c.order[i]] = i;
  };
  take_turns(from);
  auto by =
      scale{std::max(from.score.finish_ns, 1e-9), std::max(from.score.link_bytes, 1.0), archive_.limit()};
  auto current = energy(from.score, g, by);
  const auto begin = timeline_.work();
  static_cast<void>(timeline_.lay_out(from.places, from.order));
  const auto trials = work / (timeline_.work() - begin);
  // Few trials are spent downhill only.
  const auto warmth = trials < 400 ? 0.0 : trials < 2000 ? 0.03 : 0.3;
  auto tried = from;
  // Changes that change nothing cost no work: the second bound ends a search that has nothing to try.
  for (std::size_t t = 0; timeline_.work() - begin < work && t < 4 * trials; ++t) {
    tried.places = from.places;
    tried.order = from.order;
    if (!change(tried))
      continue;
    tried.score = timeline_.lay_out(tried.places, tried.order);
    archive_.add(tried);
    by.limit = archive_.limit();
    const auto next = energy(tried.score, g, by);
    const auto done = static_cast<double>(timeline_.work() - begin) / static_cast<double>(work);
    const auto temperature = warmth * std::pow(0.01, done);
    if (next <= current || (temperature > 0 && random_unit() < std::exp((current - next) / temperature))) {
      std::swap(from, tried);
      current = next;
    } else {
      take_turns(from);
    }
  }
}

bool placement_search::change(placement_candidate& c) {
  const auto kind = movable_.empty() ? 9 : random(10);
  if (kind < 3)
    return move_one(c);
  if (kind < 5)
    return move_cluster(c);
  if (kind < 6)
    return move_stretch(c);
  if (kind < 7)
    return swap_clusters(c);
  return shift_turn(c);
}

bool placement_search::move(placement_candidate& c, std::uint32_t unit, std::uint32_t device) const {
  const auto& u = units_.units[unit];
  if (c.places[u.steps.front()] == device ||
      std::find(u.allowed.begin(), u.allowed.end(), device) == u.allowed.end())
    return false;
  for (const auto s : u.steps)
    c.places[s] = device;
  return true;
}

std::uint32_t placement_search::other_device(const placement_candidate& c, std::uint32_t unit) {
  const auto& u = units_.units[unit];
  const auto device = u.allowed[random(u.allowed.size() - 1)];
  return device == c.places[u.steps.front()] ? u.allowed.back() : device;
}

std::uint32_t placement_search::any_movable() {
  return movable_[random(movable_.size())];
}

bool placement_search::on_border(const placement_candidate& c, std::uint32_t unit) const {
  const auto place = c.places[units_.units[unit].steps.front()];
  return std::any_of(next_units_[unit].begin(), next_units_[unit].end(),
                     [&](auto n) { return c.places[units_.units[n].steps.front()] != place; });
}

bool placement_search::move_one(placement_candidate& c) {
  auto unit = any_movable();
  for (auto tries = random(6); tries > 0 && !on_border(c, unit); --tries)
    unit = any_movable();
  return move(c, unit, other_device(c, unit));
}

/// Neighbours that lie on one device go to another together: `first` and up to `size` around it.
void placement_search::move_around(placement_candidate& c, std::uint32_t first, std::uint32_t to,
                                   std::size_t size) {
  const auto from = c.places[units_.units[first].steps.front()];
  queue_.assign(1, first);
  seen_[first] = 1;
  for (std::size_t i = 0; i < queue_.size() && i < size; ++i) {
    static_cast<void>(move(c, queue_[i], to));
    for (const auto n : next_units_[queue_[i]])
      if (!seen_[n] && c.places[units_.units[n].steps.front()] == from) {
        seen_[n] = 1;
        queue_.push_back(n);
      }
  }
  for (const auto u : queue_)
    seen_[u] = 0;
}

std::size_t placement_search::any_size(std::size_t least) {
  auto size = least;
  while (size < movable_.size() && random(3) != 0)
    size += 1 + size / 3;
  return size;
}

bool placement_search::move_cluster(placement_candidate& c) {
  const auto first = any_movable();
  move_around(c, first, other_device(c, first), any_size(2));
  return true;
}

bool placement_search::move_stretch(placement_candidate& c) {
  const auto unit = any_movable();
  const auto to = other_device(c, unit);
  const auto n = c.order.size();
  auto first = std::size_t{turn_[units_.units[unit].steps.front()]};
  auto length = std::size_t{1};
  while (length < n && random(4) != 0)
    length += 1 + length / 2;
  if (random(2) != 0)
    first -= std::min(first, length - 1);
  auto moved = false;
  for (auto i = first; i < std::min(n, first + length); ++i)
    moved = move(c, units_.unit_of[c.order[i]], to) || moved;
  return moved;
}

/// Where memory is full, nothing can come before something else has gone.
bool placement_search::swap_clusters(placement_candidate& c) {
  const auto a = any_movable();
  const auto b = any_movable();
  const auto place_a = c.places[units_.units[a].steps.front()];
  const auto place_b = c.places[units_.units[b].steps.front()];
  if (place_a == place_b)
    return false;
  move_around(c, a, place_b, any_size(1));
  if (c.places[units_.units[b].steps.front()] == place_b)
    move_around(c, b, place_a, any_size(1));
  return true;
}

bool placement_search::shift_turn(placement_candidate& c) {
  const auto n = c.order.size();
  const auto at = static_cast<std::uint32_t>(random(n));
  const auto step = c.order[at];
  auto low = std::uint32_t{0};
  auto high = static_cast<std::uint32_t>(n - 1);
  for (const auto other : next_steps_[step])
    if (turn_[other] < at)
      low = std::max(low, turn_[other] + 1);
    else
      high = std::min(high, turn_[other] - 1);
  if (low == high)
    return false;
  const auto to = low + static_cast<std::uint32_t>(random(high - low + 1));
  if (to == at)
    return false;
  const auto begin = c.order.begin();
  if (to < at)
    std::rotate(begin + to, begin + at, begin + at + 1);
  else
    std::rotate(begin + at, begin + at + 1, begin + to + 1);
  for (auto i = std::min(at, to); i <= std::max(at, to); ++i)
    turn_[c.order[i]] = i;
  return true;
}

} // namespace sluice
