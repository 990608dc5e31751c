#pragma once

#include <sluice/graph/export.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace sluice {

class device_event;
class sim_links;

/// Virtual time, shared by simulated devices: a list of what happens when. Time stands still until it is told
/// to move; computing takes none of it.
///
/// What happens runs on the thread that moves the clock. The same calls give the same order: by time, then in
/// the order of scheduling, or, given a seed, in an order picked by it.
///
/// @threadsafe all members; one thread at a time moves the clock.
class SLUICE_API sim_clock {
public:
  using duration = std::chrono::nanoseconds;

  /// @param seed  of the order among things that happen at the same time; 0: as they were scheduled
  [[nodiscard]] static std::shared_ptr<sim_clock> make(std::uint64_t seed = 0);
  sim_clock(const sim_clock&) = delete;
  sim_clock& operator=(const sim_clock&) = delete;
  ~sim_clock();

  /// The time since the clock was made.
  [[nodiscard]] duration now() const;

  /// Has `f` called at `when`, or at once if that is past, by the next move of the clock.
  void at(duration when, std::function<void()> f);
  /// The same, `delay` from now.
  void after(duration delay, std::function<void()> f);

  /// Moves on to the next thing that happens, and lets it. False if nothing is to come. The moving members
  /// throw errc::blocking_call when called from what happens.
  bool step();
  /// Moves on by `d`, through all that happens until then.
  void advance(duration d);
  /// Moves on until nothing is to come.
  void drain();

  /// A call that may schedule something or end an event, for as long as this lives: who finds nothing to come
  /// waits for calls before believing it. A null clock counts none.
  class SLUICE_API call {
  public:
    explicit call(sim_clock* clock) noexcept;
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    ~call();

  private:
    sim_clock* const clock_;
  };

  /// Moves on until `e` is done. False if nothing is to come and no call is in progress before that. Throws
  /// errc::blocking_call as the moving members do, and within a call.
  [[nodiscard]] bool step_until_done(const device_event& e);

  /// What is on its way between its devices.
  [[nodiscard]] sim_links& links() noexcept { return *links_; }

private:
  struct entry {
    duration when;
    std::uint64_t tie;
    std::uint64_t number;
    std::function<void()> happens;
  };
  class moving;

  explicit sim_clock(std::uint64_t seed);
  [[nodiscard]] static bool later(const entry& a, const entry& b) noexcept;
  [[nodiscard]] bool step_until(duration limit);

  std::mutex moving_;                  // held by the thread that moves the clock
  std::atomic<std::thread::id> mover_; // that thread
  mutable std::mutex mutex_;
  std::condition_variable calm_;
  // All guarded by mutex_.
  std::size_t calls_ = 0; // in progress
  duration now_{0};
  std::uint64_t scheduled_ = 0;
  const bool seeded_;
  std::mt19937_64 random_;
  std::vector<entry> to_come_; // a heap, the next one first
  const std::unique_ptr<sim_links> links_;
};

} // namespace sluice
