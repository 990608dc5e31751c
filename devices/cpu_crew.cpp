#include <sluice/devices/cpu_crew.hpp>
#include <sluice/devices/cpu_pool.hpp>

#include <algorithm>
#include <pthread.h>
#include <string>

namespace sluice {

namespace {

constexpr auto spin_time = std::chrono::milliseconds{1};

/// Long against the time that a team that fails has cost, short against the time that other processes run.
constexpr auto time_without_teams = std::chrono::milliseconds{5};

/// True while a burst lasts, for at most a millisecond.
class spin_while_burst {
public:
  explicit spin_while_burst(const std::atomic<unsigned>& bursts) : bursts_(bursts) {}

  bool operator()() noexcept {
    if (bursts_.load(std::memory_order_relaxed) == 0)
      return false;
    if (++polls_ % polls_per_clock != 1)
      return true;
    const auto now = std::chrono::steady_clock::now();
    if (polls_ == 1)
      end_ = now + spin_time;
    return now < end_;
  }

private:
  static constexpr unsigned polls_per_clock = 32; // reading the clock costs as much as a few polls

  const std::atomic<unsigned>& bursts_;
  unsigned polls_ = 0;
  std::chrono::steady_clock::time_point end_;
};

} // namespace

cpu_crew::cpu_crew(unsigned budget) : places_(budget) {
  grow(budget);
}

cpu_crew::~cpu_crew() {
  stop();
}

void cpu_crew::grow(unsigned threads) {
  const std::lock_guard lock{threads_mutex_};
  for (auto id = static_cast<unsigned>(threads_.size()); id < threads; ++id) {
    threads_.emplace_back([this, id] { work(id); });
    pthread_setname_np(threads_.back().native_handle(), ("sluice-w" + std::to_string(id)).c_str());
  }
}

void cpu_crew::resize(unsigned budget) {
  grow(budget);
  const auto before = places_.budget();
  if (places_.set_budget(budget))
    for (auto i = before; i < budget; ++i)
      notify_if_work();
}

void cpu_crew::stop() {
  const std::lock_guard lock{threads_mutex_};
  places_.stop();
  for (auto& t : threads_)
    t.join();
  threads_.clear();
  {
    pool_list ended; // dies after the lock is released
    const std::lock_guard pools_lock{pools_mutex_};
    ended.swap(pools_);
  }
  stopped_.store(true, std::memory_order_release);
}

void cpu_crew::team_failed() noexcept {
  const auto until = std::chrono::steady_clock::now() + time_without_teams;
  teams_from_.store(until.time_since_epoch().count(), std::memory_order_relaxed);
}

void cpu_crew::add(std::shared_ptr<cpu_pool> pool) {
  const std::lock_guard lock{pools_mutex_};
  pools_.push_back(std::move(pool));
  pool_count_.store(pools_.size(), std::memory_order_relaxed);
  pools_version_.fetch_add(1, std::memory_order_release);
}

void cpu_crew::remove(const cpu_pool& pool) {
  std::shared_ptr<cpu_pool> removed; // dies after the lock is released
  const std::lock_guard lock{pools_mutex_};
  const auto at = std::find_if(pools_.begin(), pools_.end(), [&](const auto& p) { return p.get() == &pool; });
  if (at == pools_.end())
    return;
  removed = std::move(*at);
  pools_.erase(at);
  pool_count_.store(pools_.size(), std::memory_order_relaxed);
  pools_version_.fetch_add(1, std::memory_order_release);
}

void cpu_crew::notify_if_work() {
  const std::lock_guard lock{pools_mutex_};
  if (std::any_of(pools_.begin(), pools_.end(), [](const auto& p) { return p->wants_worker(); }))
    places_.notify();
}

bool cpu_crew::work_elsewhere(const cpu_pool& mine) {
  if (pool_count_.load(std::memory_order_relaxed) < 2)
    return false;
  const std::lock_guard lock{pools_mutex_};
  return std::any_of(pools_.begin(), pools_.end(),
                     [&](const auto& p) { return p.get() != &mine && p->wants_worker(); });
}

void cpu_crew::refresh(pool_list& known, std::uint64_t& version) {
  if (pools_version_.load(std::memory_order_acquire) == version)
    return;
  pool_list dropped; // dies after the lock is released
  const std::lock_guard lock{pools_mutex_};
  dropped.swap(known);
  known = pools_;
  version = pools_version_.load(std::memory_order_relaxed);
}

void cpu_crew::serve_pools(unsigned id, pool_list& known, std::uint64_t& version) {
  // Starting after the pool served last, until a whole round found nothing.
  auto at = std::size_t{id};
  for (std::size_t idle = 0;; ++idle, ++at) {
    refresh(known, version);
    if (idle >= known.size() || places_.over_budget())
      return;
    auto& pool = *known[at % known.size()];
    auto* seat = pool.wants_worker() ? pool.claim_seat() : nullptr;
    if (!seat)
      continue;
    seat->work_on();
    pool.leave(*seat);
    pool.notify_if_work();
    idle = static_cast<std::size_t>(-1);
  }
}

void cpu_crew::work(unsigned id) {
  pool_list known;
  std::uint64_t version = 0;
  for (auto what = places_.arrive(id); what != parking<>::quit;
       what = places_.idle(id, spin_while_burst{bursts_})) {
    if (what != parking<>::look) {
      // The errand's giver may let the pool go as soon as the errand is done.
      const auto pool = seats_[id]->pool().shared_from_this();
      seats_[id]->run_errand(*reinterpret_cast<errand*>(what));
      pool->leave(*seats_[id]);
    }
    serve_pools(id, known, version);
  }
}

} // namespace sluice
