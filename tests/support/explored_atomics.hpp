#pragma once

#include "explorer.hpp"

#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace sluice::test {

/// Atomics for an explorer, in the place of sluice::native_atomics. All are sequentially consistent.
struct explored_atomics {
  template <class T>
  class atomic {
  public:
    atomic() : atomic(T{}) {}
    atomic(T value) : value_(value) {
      explorer::add_cell(this,
                         [](const void* cell) { return bits(static_cast<const atomic*>(cell)->value_); });
    }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(std::memory_order = std::memory_order_seq_cst) const {
      explorer::before_operation();
      return seen(value_);
    }
    void store(T value, std::memory_order = std::memory_order_seq_cst) {
      explorer::before_operation();
      value_ = value;
      explorer::saw(0);
    }
    T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
      explorer::before_operation();
      return seen(std::exchange(value_, value));
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order = std::memory_order_seq_cst,
                                 std::memory_order = std::memory_order_seq_cst) {
      explorer::before_operation();
      const bool equal = value_ == expected;
      expected = seen(value_);
      if (equal)
        value_ = desired;
      return equal;
    }
    T fetch_add(T value, std::memory_order = std::memory_order_seq_cst) {
      explorer::before_operation();
      const auto before = value_;
      value_ = static_cast<T>(value_ + value);
      return seen(before);
    }
    T fetch_sub(T value, std::memory_order = std::memory_order_seq_cst) {
      explorer::before_operation();
      const auto before = value_;
      value_ = static_cast<T>(value_ - value);
      return seen(before);
    }

  private:
    friend struct explored_atomics;

    static std::uint64_t bits(T value) {
      if constexpr (std::is_pointer_v<T>)
        return std::bit_cast<std::uintptr_t>(value);
      else
        return static_cast<std::uint64_t>(value);
    }
    static T seen(T value) {
      explorer::saw(bits(value));
      return value;
    }

    T value_;
  };

  template <class T>
  using statistic = std::atomic<T>;

  static void full_fence() {}
  static void pause() {}

  static void spin_until(const atomic<std::uint32_t>& word, std::uint32_t value) {
    explorer::wait_until([&word, value] { return word.value_ == value; });
  }

  // As a futex does: compares and goes to sleep in one step, and sleeps until it is woken.
  static void sleep_while(const atomic<std::uint32_t>& word, std::uint32_t value) {
    if (word.load() == value)
      explorer::sleep_on(&word);
  }
  static void wake_one(const atomic<std::uint32_t>& word) {
    explorer::before_operation();
    explorer::wake(&word, false);
    explorer::saw(0);
  }
  static void wake_all(const atomic<std::uint32_t>& word) {
    explorer::before_operation();
    explorer::wake(&word, true);
    explorer::saw(0);
  }
};

} // namespace sluice::test
