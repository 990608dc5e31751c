#include <sluice/actors/firing_loop.hpp>

#include <sluice/actors/graph_runtime.hpp>
#include <sluice/actors/node_actor.hpp>

namespace sluice {

namespace {

/// From this estimate on a firing is worth handing to another thread: waking one costs a few microseconds.
constexpr float heavy_ns = 2000;

struct deferred_frames {
  std::vector<frame*> frames;
  bool in_turn = false;
  bool guest = false;
};

deferred_frames& deferred() noexcept {
  static thread_local deferred_frames d;
  return d;
}

} // namespace

firing_loop::lists& firing_loop::of_thread() noexcept {
  static thread_local lists l;
  return l;
}

firing_loop::firing_loop(worker& here) noexcept
  : here_(here), lists_(of_thread()), cheap_base_(lists_.cheap.size()), heavy_base_(lists_.heavy.size()) {}

void firing_loop::offer(item i) {
  auto& [f, s] = i;
  f->activities.fetch_add(
      1, std::memory_order_relaxed); // this thread's own activity keeps the frame from ending
  here_.offer(f->state(s->state_offset));
}

void firing_loop::ready(frame& f, const executable_step& s) {
  const auto& services = f.runtime.services();
  if (services.threads->stepped())
    offer({&f, &s});
  else if (s.cell->cost_ns.load(std::memory_order_relaxed) < heavy_ns)
    lists_.cheap.emplace_back(&f, &s);
  else
    lists_.heavy.emplace_back(&f, &s);
}

void firing_loop::drain() noexcept {
  const auto fire = [this](item i) {
    i.second->cell->actor.load(std::memory_order_acquire)->fire(*i.first, *i.second, *this);
  };
  for (;;) {
    if (lists_.cheap.size() > cheap_base_) {
      const auto next = lists_.cheap.back();
      lists_.cheap.pop_back();
      fire(next);
      continue;
    }
    if (lists_.heavy.size() == heavy_base_)
      return;
    const auto kept = lists_.heavy[heavy_base_];
    for (auto i = heavy_base_ + 1; i < lists_.heavy.size(); ++i)
      offer(lists_.heavy[i]);
    lists_.heavy.resize(heavy_base_);
    fire(kept);
  }
}

void next_frames::start_later(frame& f, executor& threads) {
  auto& d = deferred();
  if (d.in_turn && !d.guest && !threads.stepped())
    d.frames.push_back(&f);
  else
    threads.submit(f);
}

next_frames::turn::turn(worker& here) noexcept : here_(here) {
  deferred().in_turn = true;
}

next_frames::turn::~turn() {
  auto& d = deferred();
  while (!d.frames.empty()) {
    auto* const mine = d.frames.back();
    d.frames.pop_back();
    for (auto* f : d.frames)
      here_.offer(*f);
    d.frames.clear();
    mine->start(here_);
  }
  d.in_turn = false;
}

next_frames::guest::guest() noexcept {
  deferred().guest = true;
}
next_frames::guest::~guest() {
  deferred().guest = false;
}
bool next_frames::is_guest() noexcept {
  return deferred().guest;
}

} // namespace sluice
