#pragma once

#include <sluice/devices/executor.hpp>
#include <sluice/graph/export.hpp>
#include <sluice/graph/memory.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

namespace sluice {

/// A point in a device's work: done once, with or without a failure. A value that a device computes carries
/// the event that says when it is ready.
///
/// An event may be reported done later than the work before it ended, never earlier. Events of one stream are
/// done in the stream's order. Each is done at last: a device that is lost or closed fails what it has.
///
/// Lifetime: shared; independent of its stream and device. @threadsafe all members.
class SLUICE_API device_event : public ref_counted<device_event> {
public:
  virtual ~device_event() = default;

  /// Whether it is over. What the work wrote can be read once this is true and failure() is null.
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }

  /// Why the work failed: what it threw, the failure of an event that it needed, or errc::device_lost. Null
  /// if it is not done or went well.
  [[nodiscard]] std::exception_ptr failure() const noexcept { return done() ? failure_ : nullptr; }

  /// When it was done, on the device's clock; only once it is. Times of one device can be compared.
  [[nodiscard]] std::chrono::nanoseconds time() const noexcept { return time_; }

  /// Calls `f` once, when done: now and here if it is already, otherwise on a thread of the device. `f` must
  /// be short and must not throw; it may enqueue work, but not wait for any.
  void when_done(std::function<void()> f);

  /// Submits `j` to `where` when done. Both live until then.
  void when_done(executor& where, job& j) {
    when_done([&where, &j] { where.submit(j); });
  }

  /// Blocks the calling thread until it is done. Throws errc::blocking_call on a worker, whose threads must
  /// not block: use when_done() there.
  void wait();

  /// Waits, and throws its failure if there is one.
  void get();

protected:
  device_event() noexcept = default;

  /// Says, once, that it is done. The caller holds a reference, and no lock that a callback could take.
  void settle(std::exception_ptr failure, std::chrono::nanoseconds time) noexcept;

  /// Returns when it is done; called on threads that may block.
  virtual void block();

private:
  friend class ref_counted<device_event>;
  void destroy() const noexcept { delete this; }

  std::mutex mutex_;
  std::atomic<bool> done_ = false;               // releases what stands in the two below
  std::exception_ptr failure_;                   // written once, under mutex_, before done_
  std::chrono::nanoseconds time_{0};             // likewise
  std::vector<std::function<void()>> callbacks_; // guarded by mutex_
};

using event_ptr = intrusive_ptr<device_event>;

} // namespace sluice
