#pragma once

#include <sluice/devices/executor.hpp>

namespace sluice {

struct frame;

/// Frames that a finished frame has made room for, started by the thread that finished it, one after another,
/// never one inside another.
class next_frames {
public:
  /// Starts `f` after what the thread does now, if it is at a job of the runtime; otherwise on another
  /// thread.
  static void start_later(frame& f, executor& threads);

  /// A job of the runtime: at its end the thread starts what was put off, one frame itself, the others
  /// queued.
  class turn {
  public:
    explicit turn(worker& here) noexcept;
    ~turn();
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

  private:
    worker& here_;
  };

  /// While it lives, the thread is a guest: it works for its own frame only.
  class guest {
  public:
    guest() noexcept;
    ~guest();
    guest(const guest&) = delete;
    guest& operator=(const guest&) = delete;
  };
  [[nodiscard]] static bool is_guest() noexcept;
};

} // namespace sluice
