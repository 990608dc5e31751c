#include <sluice/devices/frame_memory.hpp>

#include <sluice/graph/error.hpp>

namespace sluice {

frame_memory::~frame_memory() {
  give_arena_back();
}

void frame_memory::open(memory_block arena, memory_lease lease) {
  // Nobody else has anything to do with this now, and whoever gets a frame gets it by a message.
  arena_ = std::move(arena);
  leased_.store(lease.bytes() - arena_.bytes(), std::memory_order_relaxed);
  peak_.store(0, std::memory_order_relaxed);
  lease.use_for(memory_use::frames);
  lease_ = std::move(lease);
  closed_.store(false, std::memory_order_relaxed);
}

void frame_memory::give_arena_back() noexcept {
  lease_.shrink_to(lease_.bytes() - arena_.bytes());
  if (arena_.data())
    pool_->give(std::move(arena_));
}

void frame_memory::close() {
  if (reusable()) { // nothing outlives the frame, and nobody else is here
    closed_.store(true, std::memory_order_relaxed);
    give_arena_back();
    lease_ = {};
    return;
  }
  const std::lock_guard lock{mutex_};
  closed_.store(true, std::memory_order_seq_cst);
  give_arena_back(); // values in it never leave the frame
  const auto held = allocated_.load(std::memory_order_seq_cst);
  lease_.shrink_to(held);
  lease_.use_for(memory_use::held);
  leased_.store(held, std::memory_order_relaxed);
}

void* frame_memory::allocate(std::size_t bytes) {
  const auto now = allocated_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now > leased_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock{mutex_};
    const auto leased = lease_.bytes() - arena_.bytes();
    if (lease_.ledger() && now > leased && !lease_.try_grow(now - leased)) {
      allocated_.fetch_sub(bytes, std::memory_order_relaxed);
      throw error{errc::out_of_memory,
                  who_ + " needs " + std::to_string(bytes) + " bytes more; " + lease_.ledger()->report()};
    }
    leased_.store(lease_.bytes() - arena_.bytes(), std::memory_order_relaxed);
  }
  for (auto seen = peak_.load(std::memory_order_relaxed);
       seen < now && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed);) {
  }
  try {
    return from_->allocate(bytes);
  } catch (...) {
    allocated_.fetch_sub(bytes, std::memory_order_relaxed); // the lease keeps them until the frame ends
    throw;
  }
}

void frame_memory::deallocate(void* block, std::size_t bytes) noexcept {
  from_->deallocate(block, bytes);
  // Sequentially consistent with close(): either it sees these bytes gone, or this sees that it is closed.
  const auto left = allocated_.fetch_sub(bytes, std::memory_order_seq_cst) - bytes;
  if (!closed_.load(std::memory_order_seq_cst))
    return;
  const std::lock_guard lock{mutex_};
  if (closed_.load(std::memory_order_relaxed) && left < lease_.bytes())
    lease_.shrink_to(allocated_.load(std::memory_order_relaxed));
}

} // namespace sluice
