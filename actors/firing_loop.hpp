#pragma once

#include <sluice/actors/frame.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

/// Firings of a frame that are ready on this thread. Cheap ones run at once, newest first; of heavy ones the
/// thread keeps one and offers the others to idle threads before it starts, unless waking one takes longer
/// than they do. Lives on the stack; loops nest.
class firing_loop {
public:
  /// From this cost on a firing is worth offering to another thread: one that is awake takes it within a
  /// microsecond.
  static constexpr float heavy_ns = 800;
  /// What it takes to wake a thread that sleeps, and to hand it what it needs.
  static constexpr float waking_ns = 10'000;
  /// While nobody is idle, firings below this cost are kept, and whether somebody is idle is looked at again
  /// after each.
  static constexpr float kept_below_ns = 5'000;

  firing_loop(worker& here, frame& f) noexcept : firing_loop(here, f, of_thread()) {}
  firing_loop(const firing_loop&) = delete;
  firing_loop& operator=(const firing_loop&) = delete;

  /// A firing that has all its inputs.
  void ready(const executable_step& s) { lists_.ready.push_back(&s); }

  /// Fires until nothing is left on this thread.
  void drain() noexcept;

  [[nodiscard]] worker& here() const noexcept { return here_; }
  /// True for one firing in so many: that one's time is taken.
  [[nodiscard]] bool samples() noexcept { return (++lists_.firings & 63u) == 0; }

private:
  struct lists {
    std::vector<const executable_step*> ready;
    std::vector<const executable_step*> heavy; // taken from those
    std::uint32_t firings = 0;
  };

  firing_loop(worker& here, frame& f, lists& l) noexcept
    : here_(here), frame_(f), lists_(l), ready_base_(l.ready.size()), heavy_base_(l.heavy.size()) {}

  static lists& of_thread() noexcept;
  void offer(const executable_step& s);
  [[nodiscard]] const executable_step& next_heavy();

  worker& here_;
  frame& frame_;
  lists& lists_; // of the thread: this loop's part is what comes after the bases
  const std::size_t ready_base_;
  const std::size_t heavy_base_;
};

} // namespace sluice
