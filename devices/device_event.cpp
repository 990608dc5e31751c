#include <sluice/devices/device_event.hpp>

#include <sluice/graph/error.hpp>

#include <utility>

namespace sluice {

void device_event::when_done(std::function<void()> f) {
  {
    const std::lock_guard lock{mutex_};
    if (!done_.load(std::memory_order_relaxed)) {
      callbacks_.push_back(std::move(f));
      return;
    }
  }
  f();
}

void device_event::wait() {
  if (done())
    return;
  if (worker::current())
    throw error{errc::blocking_call, "a worker must not wait for a device's event: use when_done"};
  block();
}

void device_event::get() {
  wait();
  if (failure_)
    std::rethrow_exception(failure_);
}

void device_event::settle(std::exception_ptr failure, std::chrono::nanoseconds time) noexcept {
  std::vector<std::function<void()>> callbacks;
  {
    const std::lock_guard lock{mutex_};
    failure_ = std::move(failure);
    time_ = time;
    done_.store(true, std::memory_order_release);
    callbacks.swap(callbacks_);
  }
  done_.notify_all();
  for (const auto& f : callbacks)
    f();
}

void device_event::block() {
  done_.wait(false, std::memory_order_acquire);
}

} // namespace sluice
