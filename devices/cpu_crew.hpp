#pragma once

#include <sluice/devices/cpu_threads.hpp>
#include <sluice/devices/parking.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice {

class cpu_pool;
class cpu_seat;

/// Something a claimed worker does in place of looking for work; see parking::claim().
class errand {
public:
  /// The caller may destroy the errand as soon as its last helper is about to return.
  virtual void serve() noexcept = 0;

protected:
  ~errand() = default;
};

/// The worker threads behind cpu_threads, and the pools that they serve. Internal to `devices/`.
class cpu_crew {
public:
  static constexpr unsigned max_threads = parking<>::max_threads;

  explicit cpu_crew(unsigned budget);
  ~cpu_crew();
  cpu_crew(const cpu_crew&) = delete;
  cpu_crew& operator=(const cpu_crew&) = delete;

  parking<>& places() noexcept { return places_; }

  /// How many threads of the process can run at once.
  [[nodiscard]] unsigned cores() const noexcept { return cores_; }

  void resize(unsigned budget);

  /// Runs what is queued, and ends the threads.
  void stop();

  [[nodiscard]] bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

  void add(std::shared_ptr<cpu_pool> pool);
  void remove(const cpu_pool& pool);

  /// Calls a worker if a pool has a job that a worker may run now.
  void notify_if_work();

  /// Whether a pool other than `mine` has a job that a worker may run now.
  [[nodiscard]] bool work_elsewhere(const cpu_pool& mine);

  void begin_burst() noexcept { bursts_.fetch_add(1, std::memory_order_relaxed); }
  void end_burst() noexcept { bursts_.fetch_sub(1, std::memory_order_relaxed); }

  /// False for some milliseconds after a team did not come together: other processes use the cores.
  [[nodiscard]] bool teams_gather() const noexcept {
    return std::chrono::steady_clock::now().time_since_epoch().count() >=
           teams_from_.load(std::memory_order_relaxed);
  }
  void team_failed() noexcept;

  /// Sends a claimed worker on an errand in a seat that was claimed for it.
  void send(unsigned id, errand& what, cpu_seat& seat) noexcept {
    seats_[id] = &seat;
    places_.send(id, reinterpret_cast<parking<>::call>(&what));
  }

  /// Calls it back, if it has not begun; the seat is then the caller's again.
  [[nodiscard]] bool revoke(unsigned id, errand& what) noexcept {
    return places_.revoke(id, reinterpret_cast<parking<>::call>(&what));
  }

private:
  using pool_list = std::vector<std::shared_ptr<cpu_pool>>;

  void grow(unsigned threads);
  void work(unsigned id);
  void serve_pools(unsigned id, pool_list& known, std::uint64_t& version);
  void refresh(pool_list& known, std::uint64_t& version);

  const unsigned cores_ = usable_cpus();
  parking<> places_;
  std::array<cpu_seat*, max_threads> seats_{}; // of errands; written before send(), read after the call came
  std::atomic<unsigned> bursts_{0};
  std::atomic<std::chrono::steady_clock::rep> teams_from_{0};
  std::atomic<bool> stopped_{false};

  std::mutex pools_mutex_;
  pool_list pools_;                             // guarded by pools_mutex_
  std::atomic<std::uint64_t> pools_version_{1}; // changed under pools_mutex_
  std::atomic<std::size_t> pool_count_{0};

  std::mutex threads_mutex_;
  std::vector<std::thread> threads_; // guarded by threads_mutex_
};

} // namespace sluice
