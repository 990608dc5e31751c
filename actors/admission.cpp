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
