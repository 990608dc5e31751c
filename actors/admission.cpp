#include <sluice/actors/admission.hpp>

#include <sluice/actors/executable.hpp>

#include <algorithm>
#include <iterator>

namespace sluice {

admission::admission(std::uint32_t window, std::size_t queue_limit)
  : window_(window), queue_limit_(queue_limit) {
  for (auto slot = window; slot > 0; --slot)
    free_.push_back(slot - 1);
}

void admission::enqueue(run_state& r) {
  r.sequence = ++arrivals_;
  r.queued = true;
  queue_.insert(intrusive_ptr<run_state>{&r});
}

intrusive_ptr<run_state> admission::remove(run_state& r) {
  intrusive_ptr<run_state> taken{&r};
  queue_.erase(taken);
  r.queued = false;
  return taken;
}

std::vector<intrusive_ptr<run_state>> admission::next_alike(std::size_t most) const {
  std::vector<intrusive_ptr<run_state>> alike;
  for (const auto& r : queue_) {
    const auto& first = alike.empty() ? r : alike.front();
    if (alike.size() == most || r->plan != first->plan || r->priority != first->priority ||
        r->cut != run_state::cutting::none || !r->into.empty() || !r->external.empty())
      break;
    alike.push_back(r);
  }
  return alike;
}

std::uint32_t admission::take_slot() {
  const auto slot = free_.back();
  free_.pop_back();
  return slot;
}

std::vector<intrusive_ptr<run_state>> admission::take_users_of(std::uint32_t d) {
  std::vector<intrusive_ptr<run_state>> taken;
  std::copy_if(queue_.begin(), queue_.end(), std::back_inserter(taken), [&](const auto& r) {
    const auto& p = *r->plan->source;
    return !p.devices.empty() && p.uses(d);
  });
  for (const auto& r : taken)
    static_cast<void>(remove(*r));
  return taken;
}

std::vector<intrusive_ptr<run_state>> admission::take_all() {
  std::vector<intrusive_ptr<run_state>> all{queue_.begin(), queue_.end()};
  queue_.clear();
  for (const auto& r : all)
    r->queued = false;
  return all;
}

} // namespace sluice
