#include <sluice/devices/openmp_regions.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace sluice {

namespace {

// Regions of a kernel follow each other within microseconds; waiting longer than this is left to the system.
constexpr unsigned spins = 4096;

template <class Condition>
void spin_then_yield(Condition done) noexcept {
  for (unsigned i = 0; !done(); ++i)
    if (i < spins)
      native_atomics::pause();
    else
      std::this_thread::yield();
}

/// Runs `f(data)` as a member of a region.
void run_member(openmp_regions::function f, void* data, openmp_view as) noexcept {
  const auto before = std::exchange(openmp_view::here(), as);
  f(data);
  openmp_view::here() = before;
}

} // namespace

void openmp_regions::open() noexcept {
  // Sequentially consistent, like the two accesses in wait_past(): a member that goes to sleep sees the new
  // number, or is seen to sleep.
  opened_.fetch_add(1, std::memory_order_seq_cst);
  if (sleeping_.load(std::memory_order_seq_cst) != 0)
    native_atomics::wake_all(opened_);
}

void openmp_regions::run(function f, void* data, unsigned size) noexcept {
  function_ = f;
  data_ = data;
  size_ = size;
  left_.store(0, std::memory_order_relaxed);
  open();
  run_member(f, data, {width_, this, 0, size, true});
  // Members outside the region report too, so that none still reads it when the next is written.
  spin_then_yield([&] { return left_.load(std::memory_order_acquire) == width_ - 1; });
}

void openmp_regions::close() noexcept {
  closed_ = true;
  open();
}

std::uint32_t openmp_regions::wait_past(std::uint32_t seen) noexcept {
  for (unsigned i = 0; i < spins; ++i) {
    if (const auto now = opened_.load(std::memory_order_acquire); now != seen)
      return now;
    native_atomics::pause();
  }
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  auto now = opened_.load(std::memory_order_seq_cst);
  for (; now == seen; now = opened_.load(std::memory_order_acquire))
    native_atomics::sleep_while(opened_, seen);
  sleeping_.fetch_sub(1, std::memory_order_relaxed);
  return now;
}

void openmp_regions::serve(unsigned rank) noexcept {
  for (std::uint32_t seen = 0;;) {
    seen = wait_past(seen);
    if (closed_)
      return;
    if (rank < size_)
      run_member(function_, data_, {width_, this, rank, size_, true});
    left_.fetch_add(1, std::memory_order_release);
  }
}

void openmp_regions::barrier() noexcept {
  const auto round = passed_.load(std::memory_order_acquire);
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    waiting_.store(0, std::memory_order_relaxed);
    passed_.store(round + 1, std::memory_order_release);
  } else {
    spin_then_yield([&] { return passed_.load(std::memory_order_acquire) != round; });
  }
}

openmp_view& openmp_view::here() noexcept {
  thread_local openmp_view view;
  return view;
}

void openmp_view::run_region(openmp_regions::function f, void* data, unsigned threads) noexcept {
  const auto& v = here();
  // Regions inside regions have one member, as with OpenMP's default settings.
  const auto most = v.regions && !v.in_parallel ? v.regions->width() : 1;
  const auto size = std::min(threads ? threads : v.width, most);
  if (size > 1)
    v.regions->run(f, data, size);
  else
    run_member(f, data, {v.width, nullptr, 0, 1, v.in_parallel});
}

} // namespace sluice
