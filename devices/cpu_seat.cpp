#include <sluice/devices/cpu_pool.hpp>
#include <sluice/devices/float_environment.hpp>

namespace sluice {

namespace {
// After so many jobs a worker takes one that was submitted, so that its own successors do not starve it.
constexpr unsigned jobs_before_submitted = 61;
} // namespace

void cpu_seat::offer(job& j) {
  if (!jobs_.push(j))
    return pool_.submit(j);
  if (pool_.limit_) {
    native_atomics::full_fence(); // a leaver sees the job, or this sees its seat free
    if (pool_.full())
      return;
  }
  pool_.crew_->places().notify();
}

bool cpu_seat::has_company() const noexcept {
  return pool_.crew_->places().held() > 1 && !pool_.full();
}

bool cpu_seat::has_idle_company() const noexcept {
  return pool_.crew_->places().anyone_idle() && !pool_.full();
}

bool cpu_seat::is_needed() const noexcept {
  auto& crew = *pool_.crew_;
  return !jobs_.empty() || pool_.has_submitted() || crew.places().over_budget() || crew.work_elsewhere(pool_);
}

job* cpu_seat::steal() {
  const auto count = pool_.seats_made_.load(std::memory_order_acquire);
  for (unsigned i = 1; i < count + 1; ++i) {
    auto* victim = pool_.seats_[(number_ + i) % count].load(std::memory_order_acquire);
    if (!victim || victim == this)
      continue;
    for (auto got = victim->jobs_.steal(); got.item || got.contended; got = victim->jobs_.steal())
      if (got.item)
        return got.item;
  }
  return nullptr;
}

job* cpu_seat::next() {
  if (++ticks_ % jobs_before_submitted == 0)
    if (auto* j = pool_.take_submitted())
      return j;
  if (auto* j = jobs_.pop())
    return j;
  if (auto* j = pool_.take_submitted())
    return j;
  return steal();
}

void cpu_seat::work_on() {
  constexpr unsigned jobs_before_looking_elsewhere = 16;
  auto& crew = *pool_.crew_;
  set_current(this);
  auto* j = next();
  if (j)
    pool_.notify_if_work(); // one call may stand for many jobs
  for (unsigned done = 1; j; ++done) {
    j->run(*this);
    if (crew.places().over_budget() ||
        (done % jobs_before_looking_elsewhere == 0 && crew.work_elsewhere(pool_)))
      break;
    j = next();
  }
  set_current(nullptr);
}

void cpu_seat::work_as_guest(job& first) {
  const float_environment of_the_guest;
  set_current(this);
  for (auto* j = &first; j; j = jobs_.pop())
    j->run(*this);
  set_current(nullptr);
}

void cpu_seat::run_errand(errand& what) {
  set_current(this);
  what.serve();
  set_current(nullptr);
}

} // namespace sluice
