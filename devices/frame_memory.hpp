#pragma once

#include <sluice/devices/block_pool.hpp>
#include <sluice/devices/memory_ledger.hpp>
#include <sluice/graph/memory.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace sluice {

/// The memory of one frame: an arena, in which the plan has places for most values, and the heap for the
/// rest, both within the frame's lease, which grows where the plan's guess was too low. What outlives the
/// frame (results in a caller's hands) stays leased as held, until it dies.
///
/// @threadsafe allocate, deallocate; the rest by whoever owns the frame.
class SLUICE_API frame_memory final : public memory {
public:
  /// @param who   for errors: "session 'x'"
  /// @param pool  where arenas come from; null: there are none
  /// @param from  where the other bytes come from
  explicit frame_memory(std::string who, std::shared_ptr<block_pool> pool = nullptr, memory& from = heap())
    : who_(std::move(who)), pool_(std::move(pool)), from_(&from) {}
  ~frame_memory() override;

  /// Starts a frame. Only if reusable().
  /// @param lease  of the arena, and of what is allocated beside it
  void open(memory_block arena, memory_lease lease);
  /// Ends the frame, which must have let go of this: what is still allocated is held by callers from now on.
  void close();

  /// True if nothing allocated here lives, so that another frame may use it.
  [[nodiscard]] bool reusable() const noexcept {
    return unique() && allocated_.load(std::memory_order_acquire) == 0;
  }
  /// Where the frame's arena begins.
  [[nodiscard]] std::byte* arena() const noexcept { return arena_.data(); }
  /// The most bytes allocated at once since open(), without the arena.
  [[nodiscard]] std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t allocated() const noexcept { return allocated_.load(std::memory_order_relaxed); }

  void* allocate(std::size_t bytes) override;
  void deallocate(void* block, std::size_t bytes) noexcept override;

private:
  void give_arena_back() noexcept;

  const std::string who_;
  const std::shared_ptr<block_pool> pool_;
  const intrusive_ptr<memory> from_;
  memory_block arena_;
  std::atomic<std::size_t> allocated_ = 0; // beside the arena
  std::atomic<std::size_t> leased_ = 0;    // for that, to be read without the lock
  std::atomic<std::size_t> peak_ = 0;
  std::atomic<bool> closed_ = true;
  std::mutex mutex_;
  memory_lease lease_; // guarded by mutex_
};

} // namespace sluice
