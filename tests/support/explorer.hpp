#pragma once

#include <array>
#include <csetjmp>
#include <cstdint>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <unordered_set>
#include <vector>

namespace sluice::test {

/// Runs a small concurrent program under every sequentially consistent interleaving of its atomic operations.
///
/// The program's threads are fibers that stop before each operation on an explored_atomics::atomic; the
/// explorer decides who goes on, and comes back for every other choice. Two interleavings that lead to the
/// same memory with every thread having seen the same values go on alike, so only one of them is followed:
/// what a thread does may therefore depend on nothing but explored atomics, and fibers must not own memory,
/// since most are left unfinished.
class explorer {
public:
  /// Sanitizers do not follow fibers, and there is nothing for them to find: all runs on one thread.
#if defined(SLUICE_ASAN) || defined(SLUICE_TSAN)
  static constexpr bool supported = false;
#else
  static constexpr bool supported = true;
#endif

  explorer();
  ~explorer();

  /// What is explored: made anew, at the same address, for each interleaving.
  struct program {
    virtual ~program() = default;
    [[nodiscard]] virtual unsigned threads() const = 0;
    virtual void run(unsigned thread) = 0; ///< the code of a thread
    virtual void check_step() {}           ///< after each operation
    virtual void check_end() = 0;          ///< when nobody can go on: `stuck` threads sleep
    /// What the checks depend on beside atomics and what the threads saw since they last called at().
    [[nodiscard]] virtual std::uint64_t noted() const { return 0; }
    unsigned stuck = 0;
  };

  /// Constructs the program in the given storage.
  using maker = std::function<program*(void* storage)>;
  static constexpr std::size_t storage_size = 16384;

  /// Explores all; returns how many different states were seen.
  std::size_t explore(const maker& make);

  /// Says that what the calling thread will do depends on `position` alone, whatever it saw before: fewer
  /// states.
  static void at(std::uint64_t position);

  // For explored_atomics, on the fiber that runs; without effect outside of one.
  static void before_operation();
  static void saw(std::uint64_t value);
  static void sleep_on(const void* word);
  static void wake(const void* word, bool all);
  static void wait_until(std::function<bool()> ready);
  /// Registers a cell of memory; `value` reads it.
  static void add_cell(const void* cell, std::uint64_t (*value)(const void*));

private:
  struct fiber {
    ucontext_t entry{};
    std::jmp_buf resume{};
    bool started = false;
    std::unique_ptr<char[]> stack;
    std::uint64_t history = 0;
    const void* sleeping_on = nullptr;
    std::function<bool()> ready;
    bool done = false;
  };
  struct cell {
    const void* at;
    std::uint64_t (*value)(const void*);
  };
  struct choice {
    unsigned taken;
    unsigned of;
  };

  static void start();
  void yield();
  void resume(unsigned thread);
  void begin(const maker& make);
  void run_one_interleaving(const maker& make);
  [[nodiscard]] std::vector<unsigned> enabled() const;
  [[nodiscard]] std::uint64_t state() const;

  static explorer* active;

  alignas(64) std::array<unsigned char, storage_size> storage_{};
  program* program_ = nullptr;
  std::vector<fiber> fibers_;
  std::vector<cell> cells_;
  std::vector<choice> path_;
  std::unordered_set<std::uint64_t> seen_;
  std::jmp_buf scheduler_{};
  int running_ = -1;
};

} // namespace sluice::test
