#pragma once

#include <sluice/devices/memory_ledger.hpp>
#include <sluice/graph/memory.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace sluice {

/// The memory of one frame: allocates within the frame's lease and grows it where the plan's guess was too
/// low. What outlives the frame (results in a caller's hands) stays leased as held, until it dies.
///
/// @threadsafe allocate, deallocate; the rest by whoever owns the frame.
class SLUICE_API frame_memory final : public memory {
public:
  /// @param who   for errors: "session 'x'"
  /// @param from  where the bytes come from
  explicit frame_memory(std::string who, memory& from = heap()) : who_(std::move(who)), from_(&from) {}

  /// Starts a frame on a lease. Only if reusable().
  void open(memory_lease lease);
  /// Ends the frame, which must have let go of this: what is still allocated is held by callers from now on.
  void close();

  /// True if nothing allocated here lives, so that another frame may use it.
  [[nodiscard]] bool reusable() const noexcept {
    return unique() && allocated_.load(std::memory_order_acquire) == 0;
  }
  /// The most bytes allocated at once since open().
  [[nodiscard]] std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t allocated() const noexcept { return allocated_.load(std::memory_order_relaxed); }

  void* allocate(std::size_t bytes) override;
  void deallocate(void* block, std::size_t bytes) noexcept override;

private:
  const std::string who_;
  const intrusive_ptr<memory> from_;
  std::atomic<std::size_t> allocated_ = 0;
  std::atomic<std::size_t> leased_ = 0; // the lease's bytes, to be read without the lock
  std::atomic<std::size_t> peak_ = 0;
  std::atomic<bool> closed_ = true;
  std::mutex mutex_;
  memory_lease lease_; // guarded by mutex_
};

} // namespace sluice
