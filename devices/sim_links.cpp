#include <sluice/devices/sim_links.hpp>

#include <sluice/devices/sim_clock.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice {

void sim_links::carry(sim_clock& clock, link_ptr first, link_ptr second, std::chrono::nanoseconds time,
                      std::function<void()> done) {
  const std::lock_guard lock{mutex_};
  waiting_.push_back({std::move(first), std::move(second), time, std::move(done)});
  begin_what_can(clock);
}

void sim_links::begin_what_can(sim_clock& clock) {
  std::vector<const sim_link*> taken; // waited for by who came earlier
  const auto is_free = [&](const link_ptr& l) {
    return !l || (!l->busy_ && std::find(taken.begin(), taken.end(), l.get()) == taken.end());
  };
  for (auto t = waiting_.begin(); t != waiting_.end();) {
    if (!is_free(t->first) || !is_free(t->second)) {
      taken.push_back(t->first.get());
      taken.push_back(t->second.get());
      ++t;
      continue;
    }
    for (const auto& l : {t->first, t->second})
      if (l)
        l->busy_ = true;
    clock.after(t->time, [this, &clock, first = t->first, second = t->second, done = std::move(t->done)] {
      {
        const std::lock_guard lock{mutex_};
        for (const auto& l : {first, second})
          if (l)
            l->busy_ = false;
        begin_what_can(clock);
      }
      done();
    });
    t = waiting_.erase(t);
  }
}

} // namespace sluice
