#include <sluice/devices/cpu_pool.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <sched.h>
#include <thread>

namespace sluice {

namespace {

/// Parked helpers come within 20 us where a core is free.
constexpr auto patience_with_helpers = std::chrono::microseconds{60};
/// One that spins on a core of its own answers within a microsecond; one that has lost it, after
/// milliseconds.
constexpr auto patience_with_those_awake = std::chrono::microseconds{20};

/// Moves the calling thread to another core if it runs on this one. The system often wakes a thread on the
/// core of who woke it, though others are idle, and moves it only milliseconds later.
void leave_core(int core) noexcept {
  cpu_set_t allowed;
  if (sched_getcpu() != core || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  auto others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
    sched_setaffinity(0, sizeof allowed, &allowed);
}

/// Waits for others that compute: spins, and lets the system run them if it takes long.
template <class Done>
void wait_for_helpers(Done done) noexcept {
  constexpr unsigned spins_before_yield = 4096;
  for (unsigned spins = 0; !done(); ++spins)
    if (spins < spins_before_yield)
      native_atomics::pause();
    else
      std::this_thread::yield();
}

/// Idle workers of a pool, claimed with a token and a seat each to help the calling thread.
class helpers {
public:
  helpers(cpu_pool& pool, unsigned least, unsigned most) : pool_(pool) {
    auto& places = pool.crew().places();
    if (most == 0 || !places.anyone_idle())
      return;
    for (; seats_taken_ < std::min(most, cpu_crew::max_threads); ++seats_taken_) {
      seats_[seats_taken_] = pool.claim_seat();
      if (!seats_[seats_taken_])
        break;
    }
    if (seats_taken_ >= least)
      count_ = places.claim(least, seats_taken_, ids_.data());
    while (seats_taken_ > count_)
      pool.leave(*seats_[--seats_taken_]);
    if (count_ == 0)
      pool.notify_if_work(); // for who was refused a seat meanwhile
  }

  [[nodiscard]] unsigned count() const noexcept { return count_; }

  void send(errand& what) noexcept {
    for (unsigned i = 0; i < count_; ++i)
      pool_.crew().send(ids_[i], what, *seats_[i]);
  }

  /// Calls back who has not begun; returns how many.
  unsigned revoke(errand& what) {
    unsigned revoked = 0;
    for (unsigned i = 0; i < count_; ++i)
      if (pool_.crew().revoke(ids_[i], what)) {
        pool_.leave(*seats_[i]);
        ++revoked;
      }
    if (revoked)
      pool_.notify_if_work();
    return revoked;
  }

private:
  cpu_pool& pool_;
  unsigned count_ = 0;
  unsigned seats_taken_ = 0;
  std::array<std::uint16_t, cpu_crew::max_threads> ids_;
  std::array<cpu_seat*, cpu_crew::max_threads> seats_;
};

using range_body = function_ref<void(std::size_t, std::size_t)>;
using team_body = function_ref<void(unsigned, unsigned)>;

/// A loop cut into chunks that any number of threads take in turn.
class loop final : public errand {
public:
  loop(std::size_t n, std::size_t grain, range_body body) : n_(n), grain_(grain), body_(body) {}

  /// Takes chunks until there are none.
  void run() noexcept {
    try {
      // No data hangs on the counter: bodies see what was before the loop through the call that brought the
      // helper.
      for (std::size_t begin; (begin = next_.fetch_add(1, std::memory_order_relaxed) * grain_) < n_;)
        body_(begin, std::min(n_, begin + grain_));
    } catch (...) {
      next_.store(n_ / grain_ + 1, std::memory_order_relaxed);
      if (!failed_.exchange(true, std::memory_order_acq_rel))
        error_ = std::current_exception();
    }
  }

  void serve() noexcept override {
    run();
    gone_.fetch_add(1,
                    std::memory_order_release); // the last access: what was computed is visible to the caller
  }

  [[nodiscard]] unsigned gone() const noexcept { return gone_.load(std::memory_order_acquire); }

  void rethrow() const {
    if (error_)
      std::rethrow_exception(error_);
  }

private:
  const std::size_t n_;
  const std::size_t grain_;
  const range_body body_;
  alignas(64) std::atomic<std::size_t> next_{0};
  alignas(64) std::atomic<unsigned> gone_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

/// A function called once by each of a number of threads at the same time; not before all are there.
///
/// Shared by the caller and each helper, so that nobody waits for a helper that is late.
class team final : public errand {
public:
  team(unsigned size, team_body body) : size_(size), body_(body), owners_(size) {}

  void serve() noexcept override {
    leave_core(core_);
    const auto rank = arrived_.fetch_add(1, std::memory_order_relaxed) + 1;
    wait_for_helpers([this] { return stage_.load(std::memory_order_acquire) != gathering; });
    awake_.fetch_add(1, std::memory_order_relaxed);
    wait_for_helpers([this] { return stage_.load(std::memory_order_acquire) >= begun; });
    if (stage_.load(std::memory_order_relaxed) == begun)
      body_(rank, size_);
    gone_.fetch_add(1, std::memory_order_release);
    let_go(1);
  }

  /// True if all have come, and are seen to run at this moment: one that has come may have lost its core
  /// since.
  [[nodiscard]] bool gathers() noexcept {
    if (!reaches(arrived_, patience_with_helpers))
      return false;
    stage_.store(roll_call, std::memory_order_release);
    return reaches(awake_, patience_with_those_awake);
  }

  void begin() noexcept { stage_.store(begun, std::memory_order_release); }
  void dismiss() noexcept { stage_.store(dismissed, std::memory_order_release); }
  void let_go(unsigned owners) noexcept {
    if (owners_.fetch_sub(owners, std::memory_order_acq_rel) == owners)
      delete this;
  }

  [[nodiscard]] bool done() const noexcept { return gone_.load(std::memory_order_acquire) == size_ - 1; }

private:
  enum stage : unsigned { gathering, roll_call, begun, dismissed };

  [[nodiscard]] bool reaches(const std::atomic<unsigned>& count, std::chrono::nanoseconds patience) const {
    for (const auto end = std::chrono::steady_clock::now() + patience;
         count.load(std::memory_order_relaxed) < size_ - 1; native_atomics::pause())
      if (std::chrono::steady_clock::now() >= end)
        return false;
    return true;
  }

  const unsigned size_;
  const int core_ = sched_getcpu(); // of the caller
  const team_body body_;            // the caller's, until all are gone; not after dismiss()
  std::atomic<unsigned> owners_;
  std::atomic<unsigned> arrived_{0};
  std::atomic<unsigned> stage_{gathering};
  alignas(64) std::atomic<unsigned> awake_{0};
  std::atomic<unsigned> gone_{0};
};

} // namespace

void cpu_seat::parallel_for(std::size_t n, std::size_t grain, unsigned width, range_body body) {
  grain = std::max<std::size_t>(grain, 1);
  const auto chunks = n / grain + (n % grain != 0);
  const auto most =
      chunks < 2 || width < 2 ? 0 : static_cast<unsigned>(std::min<std::size_t>(width, chunks) - 1);
  if (most == 0 || !pool_.crew().places().anyone_idle()) {
    for (std::size_t begin = 0; begin < n; begin += std::min(grain, n - begin))
      body(begin, begin + std::min(grain, n - begin));
    return;
  }
  loop all{n, grain, body};
  helpers others{pool_, 1, most};
  others.send(all);
  all.run();
  if (const auto helping = others.count() - others.revoke(all))
    wait_for_helpers([&] { return all.gone() == helping; });
  all.rethrow();
}

bool cpu_seat::try_team(unsigned size, team_body body) {
  if (size == 0)
    return false;
  if (size == 1) {
    body(0, 1);
    return true;
  }
  if (!pool_.crew().teams_gather())
    return false;
  helpers others{pool_, size - 1, size - 1};
  if (others.count() == 0)
    return false;
  auto& all = *new team{size, body};
  others.send(all);
  // A core that another process uses makes a helper come milliseconds late; alone it goes faster then. More
  // threads than cores never run at once: whoever wants that waits.
  if (size <= pool_.crew().cores() && !all.gathers()) {
    pool_.crew().team_failed();
    all.dismiss();
    all.let_go(1 + others.revoke(all));
    return false;
  }
  all.begin();
  struct joined {
    team& all;
    ~joined() {
      wait_for_helpers([this] { return all.done(); });
      all.let_go(1);
    }
  } const at_end{all};
  body(0, size);
  return true;
}

} // namespace sluice
