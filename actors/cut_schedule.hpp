#pragma once

#include <sluice/scheduler/batch_split.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

namespace sluice {

/// Which parts of a cut request run when. No threads and no clock: whoever drives it says what time it is.
///
/// A small part runs first and alone, to see what it needs. The next parts of a long request run in waves,
/// each of one size, to find the size that takes least time per item; the rest are started as others end.
/// Each item is in exactly one part that succeeds.
class SLUICE_API cut_schedule {
public:
  using time_point = std::chrono::steady_clock::time_point;

  struct part {
    std::int64_t first = 0;
    std::int64_t items = 0;
    time_point started{};
  };

  /// @param first  the items of the first part
  cut_schedule(std::int64_t items, std::int64_t first);

  /// True until the first part has ended: decide() must be called then.
  [[nodiscard]] bool undecided() const noexcept { return !decided_; }
  void decide(const batch_split& split);

  /// The items that the next part will have; nullopt if none can be started before another ends.
  [[nodiscard]] std::optional<std::int64_t> next_items();
  /// Starts that part.
  [[nodiscard]] part start(time_point now);
  void succeeded(const part& p, time_point now);
  /// The error of the first failing part by order is the request's. Parts before it run on.
  void failed(const part& p, std::exception_ptr why);
  /// The part needed more memory than predicted: its items run again in smaller parts, one at a time. False
  /// if it had one item only.
  [[nodiscard]] bool too_large(const part& p);
  /// No more parts are started; those that run are waited for.
  void stop() noexcept { stopped_ = true; }

  [[nodiscard]] bool finished() const noexcept;
  /// The error, if there is one.
  [[nodiscard]] const std::exception_ptr& failure() const noexcept { return failure_; }
  /// Whether a part that runs is still of use.
  [[nodiscard]] bool wanted(const part& p) const noexcept {
    return !stopped_ && (!failure_ || p.first < failed_first_);
  }
  [[nodiscard]] std::uint32_t in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] std::uint32_t most_in_flight() const noexcept { return most_in_flight_; }
  [[nodiscard]] std::uint32_t parts() const noexcept { return parts_; }
  [[nodiscard]] const split_search& search() const noexcept { return search_; }

private:
  [[nodiscard]] bool trying() const noexcept { return !search_.settled(); }
  void ended(const part& p, time_point now);

  const std::int64_t items_;
  bool decided_ = false;
  split_search search_;
  std::uint32_t most_in_flight_;
  std::uint32_t in_flight_ = 0;
  std::uint32_t parts_ = 0;
  std::int64_t next_ = 0;
  std::vector<part> again_; // the first to run last
  bool stopped_ = false;
  std::exception_ptr failure_;
  std::int64_t failed_first_ = 0;
  std::uint32_t wave_parts_ = 0;   // started in this wave
  bool wave_ends_ = false;         // no more are
  std::vector<double> wave_times_; // of its parts, ns per item
  time_point wave_began_;
};

} // namespace sluice
