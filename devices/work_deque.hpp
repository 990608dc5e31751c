#pragma once

#include <sluice/devices/atomics.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice {

/// A bounded deque of pointers with one owner: the owner pushes and pops the newest, thieves steal the oldest.
///
/// Chase and Lev, "Dynamic circular work-stealing deque" (2005), with the orders of Lê et al., "Correct and
/// efficient work-stealing for weak memory models" (2013), and a buffer that never grows: what does not fit goes
/// elsewhere. A taken pointer is taken exactly once.
///
/// The owner may change, if the old one's last call happens before the new one's first.
///
/// @tparam Item      what is pointed to; not owned
/// @tparam Capacity  a power of two
template <class Item, std::size_t Capacity = 4096, class Atomics = native_atomics>
class work_deque {
  static_assert(Capacity > 0 && (Capacity & (Capacity - 1)) == 0, "a power of two");

public:
  struct stolen {
    Item* item;     ///< null if there was none, or another took it
    bool contended; ///< another took it: there may be more, try again
  };

  /// False if it is full. Only the owner.
  [[nodiscard]] bool push(Item& item) noexcept {
    const auto bottom = bottom_.load(relaxed);
    // Acquire: the slot about to be written was read by the thief that moved top past it.
    if (bottom - top_.load(acquire) >= static_cast<std::int64_t>(Capacity))
      return false;
    at(bottom).store(&item, relaxed);
    // Release: a thief that sees the new bottom sees the slot, and what the item's maker wrote.
    bottom_.store(bottom + 1, release);
    return true;
  }

  /// The newest, or null. Only the owner.
  [[nodiscard]] Item* pop() noexcept {
    const auto bottom = bottom_.load(relaxed) - 1;
    // Thieves only raise top, so an old value can only hide that it is emptier still.
    if (top_.load(relaxed) > bottom)
      return nullptr;
    bottom_.store(bottom, relaxed);
    // Either a thief sees the lowered bottom or this sees the top that the thief raised: the store must not pass
    // the load. It pairs with the fence in steal().
    Atomics::full_fence();
    auto top = top_.load(relaxed);
    if (top > bottom) {
      bottom_.store(bottom + 1, relaxed);
      return nullptr;
    }
    auto* item = at(bottom).load(relaxed);
    if (top == bottom) {
      // The last one: thieves may want it too. Sequential consistency puts all takers in one order.
      if (!top_.compare_exchange_strong(top, top + 1, seq_cst, relaxed))
        item = nullptr;
      bottom_.store(bottom + 1, relaxed);
    }
    return item;
  }

  /// The oldest. Any thread.
  [[nodiscard]] stolen steal() noexcept {
    auto top = top_.load(acquire);
    Atomics::full_fence();
    // Acquire: pairs with the release in push(), for the slot and the item's content.
    if (top >= bottom_.load(acquire))
      return {nullptr, false};
    auto* item = at(top).load(relaxed);
    if (!top_.compare_exchange_strong(top, top + 1, seq_cst, relaxed))
      return {nullptr, true};
    return {item, false};
  }

  /// True if it was empty at some moment of the call. Any thread.
  [[nodiscard]] bool empty() const noexcept {
    // Top first, with acquire: a bottom read before could be older than it and miss an item.
    const auto top = top_.load(acquire);
    return top >= bottom_.load(acquire);
  }

private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr auto acquire = std::memory_order_acquire;
  static constexpr auto release = std::memory_order_release;
  static constexpr auto seq_cst = std::memory_order_seq_cst;

  template <class T>
  using atomic = typename Atomics::template atomic<T>;

  auto& at(std::int64_t index) noexcept { return items_[static_cast<std::size_t>(index) & (Capacity - 1)]; }

  alignas(64) atomic<std::int64_t> top_{0};
  alignas(64) atomic<std::int64_t> bottom_{0};
  alignas(64) std::array<atomic<Item*>, Capacity> items_{};
};

} // namespace sluice
