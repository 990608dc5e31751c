#include <sluice/devices/cpu_pool.hpp>
#include <sluice/graph/error.hpp>

#include <algorithm>
#include <bit>
#include <new>

namespace sluice {

cpu_pool::cpu_pool(std::shared_ptr<cpu_crew> crew, unsigned limit)
  : crew_(std::move(crew)), limit_(limit),
    seat_count_(limit ? std::min(limit, cpu_crew::max_threads) : cpu_crew::max_threads) {}

cpu_pool::~cpu_pool() {
  for (auto& s : seats_)
    delete s.load(std::memory_order_relaxed);
}

unsigned cpu_pool::concurrency() const noexcept {
  return std::min(seat_count_, crew_->places().budget());
}

void cpu_pool::submit(job& j) {
  if (crew_->stopped())
    throw error{errc::engine_closed, "a job was submitted to a pool whose threads have ended"};
  {
    const std::lock_guard lock{submitted_mutex_};
    submitted_.push(j);
    submitted_count_.fetch_add(1, std::memory_order_release);
  }
  native_atomics::full_fence(); // a full pool's next leaver sees the job, or this sees that there is room
  if (!full())
    crew_->places().notify();
}

job* cpu_pool::take_submitted() {
  if (!has_submitted())
    return nullptr;
  const std::lock_guard lock{submitted_mutex_};
  auto* j = submitted_.pop();
  if (j)
    submitted_count_.fetch_sub(1, std::memory_order_relaxed);
  return j;
}

bool cpu_pool::has_jobs() const noexcept {
  if (has_submitted())
    return true;
  for (unsigned i = 0, n = seats_made_.load(std::memory_order_acquire); i < n; ++i)
    if (const auto* s = seats_[i].load(std::memory_order_acquire); s && !s->jobs_.empty())
      return true;
  return false;
}

std::uint64_t cpu_pool::seats_in_word(unsigned word) const noexcept {
  const auto first = word * 64;
  if (seat_count_ >= first + 64)
    return ~std::uint64_t{0};
  return seat_count_ <= first ? 0 : (std::uint64_t{1} << (seat_count_ - first)) - 1;
}

bool cpu_pool::full() const noexcept {
  for (unsigned w = 0; w < words; ++w)
    if (const auto all = seats_in_word(w); (taken_[w].load(std::memory_order_relaxed) & all) != all)
      return false;
  return true;
}

cpu_seat* cpu_pool::claim_seat() {
  for (unsigned w = 0; w < words; ++w) {
    const auto all = seats_in_word(w);
    for (auto taken = taken_[w].load(std::memory_order_relaxed); (taken & all) != all;) {
      const auto bit = static_cast<unsigned>(std::countr_one(taken));
      // Acquire: what the seat's last owner did to the deque comes before.
      if (taken_[w].compare_exchange_weak(taken, taken | std::uint64_t{1} << bit, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
        auto* s = seat(w * 64 + bit);
        if (!s)
          taken_[w].fetch_and(~(std::uint64_t{1} << bit), std::memory_order_relaxed);
        return s;
      }
    }
  }
  return nullptr;
}

void cpu_pool::leave(cpu_seat& s) {
  taken_[s.number_ / 64].fetch_and(~(std::uint64_t{1} << s.number_ % 64), std::memory_order_acq_rel);
  native_atomics::full_fence(); // pairs with the ones before full(), and in close()
  if (closed_.load(std::memory_order_relaxed) && deserted() && !has_jobs())
    crew_->remove(*this);
}

bool cpu_pool::deserted() const noexcept {
  return std::all_of(taken_.begin(), taken_.end(),
                     [](const auto& word) { return word.load(std::memory_order_relaxed) == 0; });
}

// Called by the seat's owner alone.
cpu_seat* cpu_pool::seat(unsigned number) noexcept {
  if (auto* s = seats_[number].load(std::memory_order_acquire))
    return s;
  const std::lock_guard lock{seats_mutex_};
  auto* s = new (std::nothrow) cpu_seat{*this, number};
  seats_[number].store(s, std::memory_order_release);
  if (s && seats_made_.load(std::memory_order_relaxed) <= number)
    seats_made_.store(number + 1, std::memory_order_release);
  return s;
}

bool cpu_pool::try_guest(job& first) {
  if (worker::current())
    return false;
  auto& places = crew_->places();
  if (!places.try_take())
    return false;
  auto* seat = claim_seat();
  if (seat) {
    seat->work_as_guest(first);
    leave(*seat);
  }
  if (places.give_back())
    crew_->notify_if_work();
  else if (limit_)
    notify_if_work();
  return seat != nullptr;
}

void cpu_pool::close() {
  closed_.store(true, std::memory_order_release);
  native_atomics::full_fence(); // the last worker sees that it is closed, or this sees that nobody is there
  if (deserted() && !has_jobs())
    crew_->remove(*this);
}

} // namespace sluice
