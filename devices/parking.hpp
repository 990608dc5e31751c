#pragma once

#include <sluice/devices/atomics.hpp>

#include <array>
#include <cstdint>

namespace sluice {

/// The tokens of a CPU budget, and the idle threads that wait for one: who may run, who sleeps, who is called.
///
/// A thread runs or spins only while it holds a token; there are `budget()` of them. A worker is known by a number
/// below max_threads and is either running (holds a token), spinning (holds one; at most one worker does), or
/// parked. Guests take tokens too, but are not parked here. All of it is one 64-bit word, so that every change is
/// one compare-exchange, and no wake-up is lost:
///
/// - Whoever makes work available publishes it and then calls notify(). That calls an idle worker, if there is
///   one and a token for it; otherwise it marks work as *pending*.
/// - A worker that found no work calls idle(). With work pending it clears the mark and returns `look`; otherwise
///   it waits to be called. give_back() likewise tells a guest to look.
/// - A worker that looked and found work, and sees more of it, calls notify() for the rest.
///
/// Invariant: work is pending only while no token is free or no worker is parked.
///
/// @threadsafe all members, except that a worker's own calls come from its thread.
template <class Atomics = native_atomics>
class parking {
public:
  static constexpr unsigned max_threads = 512;

  /// What a worker is called for: one of these, or an address that sender and worker agree on.
  using call = std::uintptr_t;
  static constexpr call none = 0;
  static constexpr call look = 1; ///< for work
  static constexpr call quit = 2; ///< the token is given back already

  explicit parking(unsigned budget) noexcept : word_(state{}.with_budget(budget).bits) {}

  [[nodiscard]] unsigned budget() const noexcept { return now().budget(); }

  /// Threads that hold a token now.
  [[nodiscard]] unsigned held() const noexcept { return now().held(); }

  /// The most tokens held at once since the last reset_peak().
  [[nodiscard]] unsigned peak() const noexcept { return peak_.load(relaxed); }
  void reset_peak() noexcept { peak_.store(held(), relaxed); }

  /// More tokens are held than there are, since the budget shrank: a worker should go idle.
  [[nodiscard]] bool over_budget() const noexcept { return now().held() > now().budget(); }

  /// Whether claim() may find somebody.
  [[nodiscard]] bool anyone_idle() const noexcept {
    const auto s = now();
    return s.spinner() || (s.top() && s.held() < s.budget());
  }

  /// Changes the number of tokens. True if the caller should look whether there is work, and notify().
  [[nodiscard]] bool set_budget(unsigned budget) noexcept {
    const auto before = update([&](state s) {
      const bool may_wake = s.held() < budget && s.top();
      return s.with_budget(budget).with_pending(s.pending() && !may_wake);
    });
    return look_after(before.pending() && before.held() < budget && before.top());
  }

  /// Takes a token for the calling thread, which is none of the workers, if one is free.
  [[nodiscard]] bool try_take() noexcept {
    for (auto s = now(); s.held() < s.budget();)
      if (exchange(s, s.with_held(s.held() + 1)))
        return true;
    return false;
  }

  /// Gives a token taken by try_take() back. True if the caller should look whether there is work, and notify().
  [[nodiscard]] bool give_back() noexcept {
    const auto before = update([](state s) {
      const bool may_wake = s.held() <= s.budget() && s.top();
      return s.with_held(s.held() - 1).with_pending(s.pending() && !may_wake);
    });
    return look_after(before.pending() && before.held() <= before.budget() && before.top());
  }

  /// Calls one idle worker to look for work that was published before, or marks it as pending.
  void notify() noexcept {
    // The work must be visible before the word is read: a worker that clears the mark afterwards then finds it.
    Atomics::full_fence();
    for (auto s = now(); !s.pending();) {
      if (const auto spinner = s.spinner()) {
        if (exchange(s, s.with_spinner(0)))
          return send(spinner - 1, look);
      } else if (const auto top = s.top(); top && s.held() < s.budget()) {
        if (exchange(s, s.with_top(next_of(top)).with_held(s.held() + 1)))
          return send(top - 1, look);
      } else if (exchange(s, s.with_pending(true))) {
        return;
      }
    }
  }

  /// Claims idle workers, with a token each: at most `most`, and none if fewer than `least` are idle. Their numbers
  /// go to `ids`; each must then be sent a call.
  [[nodiscard]] unsigned claim(unsigned least, unsigned most, std::uint16_t* ids) noexcept {
    for (auto s = now();;) {
      unsigned count = 0;
      auto after = s;
      if (s.spinner() && count < most) {
        ids[count++] = static_cast<std::uint16_t>(s.spinner() - 1);
        after = after.with_spinner(0);
      }
      // The links may be stale; then the word has changed too and the exchange fails.
      while (count < most && after.top() && after.held() < after.budget()) {
        ids[count++] = static_cast<std::uint16_t>(after.top() - 1);
        after = after.with_top(next_of(after.top())).with_held(after.held() + 1);
      }
      if (count == 0 || count < least)
        return 0;
      if (exchange(s, after))
        return count;
    }
  }

  /// Calls a claimed worker.
  void send(unsigned id, call what) noexcept {
    auto& to = places_[id];
    to.mail.store(what, relaxed);
    // Release: the worker that sees the signal sees the mail and all before it.
    if (to.signal.exchange(called, std::memory_order_acq_rel) == asleep)
      Atomics::wake_one(to.signal);
  }

  /// Turns a call that was sent into `look`, if the worker has not taken it yet.
  [[nodiscard]] bool revoke(unsigned id, call what) noexcept {
    return places_[id].mail.compare_exchange_strong(what, look, std::memory_order_acq_rel, relaxed);
  }

  /// A new worker, without a token, waits to be called.
  [[nodiscard]] call arrive(unsigned id) noexcept {
    for (auto s = now();;) {
      if (s.stopping())
        return quit;
      if (s.pending() && s.held() < s.budget()) {
        if (exchange(s, s.with_pending(false).with_held(s.held() + 1))) {
          Atomics::full_fence();
          return look;
        }
      } else if (exchange(s, on_top(s, id))) {
        return sleep(id);
      }
    }
  }

  /// A worker that found no work waits to be called: while `spin_on()` it may spin, then it parks. Returns with a
  /// token, unless with `quit`.
  template <class Condition>
  [[nodiscard]] call idle(unsigned id, Condition spin_on) noexcept {
    const bool spins = start_spinning(id, spin_on);
    if (spins)
      for (; spin_on(); Atomics::pause())
        if (places_[id].signal.load(std::memory_order_acquire) == called)
          return take(id);
    for (auto s = now();;) {
      if (spins && s.spinner() != id + 1) {
        Atomics::spin_until(places_[id].signal, called); // claimed: the call is on its way
        return take(id);
      }
      const auto base = spins ? s.with_spinner(0) : s;
      if (s.stopping()) {
        if (exchange(s, base.with_held(s.held() - 1)))
          return quit;
      } else if (s.pending() && s.held() <= s.budget()) {
        if (exchange(s, base.with_pending(false))) {
          Atomics::full_fence(); // pairs with the one in notify()
          return look;
        }
      } else if (exchange(s, on_top(base.with_held(s.held() - 1), id))) {
        return sleep(id);
      }
    }
  }

  /// From now on workers get `quit` in place of going idle; those that are parked get it at once.
  void stop() noexcept {
    update([](state s) { return s.with_stopping(); });
    for (auto s = now(); s.top(); s = now())
      if (const auto top = s.top(); exchange(s, s.with_top(next_of(top))))
        send(top - 1, quit);
  }

private:
  static constexpr auto relaxed = std::memory_order_relaxed;

  // A worker's signal word.
  static constexpr std::uint32_t awake = 0;
  static constexpr std::uint32_t called = 1;
  static constexpr std::uint32_t asleep = 2;

  /// The word. Workers are numbered from 1 in it; 0 is nobody. The tag counts parkings, so that a stack of parked
  /// workers that looks the same is the same.
  struct state {
    std::uint64_t bits = 0;

    [[nodiscard]] unsigned held() const noexcept { return field(0); }
    [[nodiscard]] unsigned budget() const noexcept { return field(10); }
    [[nodiscard]] unsigned top() const noexcept { return field(20); }
    [[nodiscard]] unsigned spinner() const noexcept { return field(30); }
    [[nodiscard]] bool pending() const noexcept { return (bits >> 40 & 1) != 0; }
    [[nodiscard]] bool stopping() const noexcept { return (bits >> 41 & 1) != 0; }

    [[nodiscard]] state with_held(unsigned n) const noexcept { return with(0, n); }
    [[nodiscard]] state with_budget(unsigned n) const noexcept { return with(10, n); }
    [[nodiscard]] state with_top(unsigned id) const noexcept { return with(20, id); }
    [[nodiscard]] state with_spinner(unsigned id) const noexcept { return with(30, id); }
    [[nodiscard]] state with_pending(bool on) const noexcept {
      return {(bits & ~(std::uint64_t{1} << 40)) | std::uint64_t{on} << 40};
    }
    [[nodiscard]] state with_stopping() const noexcept { return {bits | std::uint64_t{1} << 41}; }
    [[nodiscard]] state with_next_tag() const noexcept { return {bits + (std::uint64_t{1} << 42)}; }

  private:
    [[nodiscard]] unsigned field(unsigned shift) const noexcept {
      return static_cast<unsigned>(bits >> shift & 1023);
    }
    [[nodiscard]] state with(unsigned shift, unsigned value) const noexcept {
      return {(bits & ~(std::uint64_t{1023} << shift)) | std::uint64_t{value} << shift};
    }
  };

  template <class T>
  using atomic = typename Atomics::template atomic<T>;

  struct alignas(64) place {
    atomic<std::uint32_t> signal{awake};
    atomic<std::uint32_t> next{0};
    atomic<call> mail{none};
  };

  [[nodiscard]] state now() const noexcept { return {word_.load(relaxed)}; }

  // Sequentially consistent: the one order of all changes is what the protocol's arguments are about.
  [[nodiscard]] bool exchange(state& expected, state desired) noexcept {
    if (!word_.compare_exchange_strong(expected.bits, desired.bits, std::memory_order_seq_cst, relaxed))
      return false;
    if (desired.held() > expected.held())
      raise_peak(desired.held());
    return true;
  }

  template <class Change>
  state update(Change change) noexcept {
    auto s = now();
    while (!exchange(s, change(s))) {
    }
    return s;
  }

  [[nodiscard]] static bool look_after(bool needed) noexcept {
    if (needed)
      Atomics::full_fence();
    return needed;
  }

  void raise_peak(unsigned held) noexcept {
    for (auto seen = peak_.load(relaxed);
         seen < held && !peak_.compare_exchange_strong(seen, held, relaxed, relaxed);) {
    }
  }

  [[nodiscard]] unsigned next_of(unsigned top) const noexcept { return places_[top - 1].next.load(relaxed); }

  [[nodiscard]] state on_top(state s, unsigned id) noexcept {
    places_[id].next.store(s.top(), relaxed);
    return s.with_top(id + 1).with_next_tag();
  }

  template <class Condition>
  [[nodiscard]] bool start_spinning(unsigned id, Condition& spin_on) noexcept {
    for (auto s = now();;) {
      if (s.spinner() || s.pending() || s.stopping() || s.budget() < 2 || s.held() > s.budget() || !spin_on())
        return false;
      if (exchange(s, s.with_spinner(id + 1)))
        return true;
    }
  }

  [[nodiscard]] call sleep(unsigned id) noexcept {
    auto& here = places_[id];
    auto seen = awake;
    if (here.signal.compare_exchange_strong(seen, asleep, std::memory_order_acquire))
      do
        Atomics::sleep_while(here.signal, asleep);
      while (here.signal.load(std::memory_order_acquire) == asleep);
    return take(id);
  }

  [[nodiscard]] call take(unsigned id) noexcept {
    places_[id].signal.store(awake, relaxed);
    return places_[id].mail.exchange(none, std::memory_order_acq_rel);
  }

  alignas(64) atomic<std::uint64_t> word_;
  alignas(64) atomic<unsigned> peak_{0};
  std::array<place, max_threads> places_{};
};

} // namespace sluice
