#include <sluice/devices/block_pool.hpp>

#include <sluice/graph/error.hpp>
#include <sluice/graph/memory.hpp>

#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#  include <sanitizer/asan_interface.h>
#endif

#include <algorithm>
#include <string>

namespace sluice {

namespace {

/// From here on a block has pages of its own, so that freeing it gives them back.
constexpr std::size_t own_pages_from = std::size_t{1} << 20;

#ifdef __SANITIZE_ADDRESS__
/// What is kept must not be used: a value that outlived its frame would be found.
void forbid(const memory_block& b) noexcept {
  __asan_poison_memory_region(b.data(), b.bytes());
}
void permit(const memory_block& b) noexcept {
  __asan_unpoison_memory_region(b.data(), b.bytes());
}
#else
void forbid(const memory_block&) noexcept {}
void permit(const memory_block&) noexcept {}
#endif

} // namespace

memory_block::memory_block(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0)
    return;
  if (bytes < own_pages_from) {
    data_ = static_cast<std::byte*>(memory::heap().allocate(bytes));
    return;
  }
  auto* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    throw error{errc::out_of_memory, "the system has no " + std::to_string(bytes) + " bytes left"};
  data_ = static_cast<std::byte*>(pages);
}

memory_block::~memory_block() {
  if (!data_)
    return;
  permit(*this);
  if (bytes_ < own_pages_from)
    memory::heap().deallocate(data_, bytes_);
  else
    munmap(data_, bytes_);
}

block_pool::block_pool(std::shared_ptr<memory_ledger> ledger) : ledger_(std::move(ledger)) {
  ledger_->reclaim_by([this] { return trim(); });
}

block_pool::~block_pool() {
  ledger_->reclaim_by(nullptr);
}

memory_block block_pool::take(std::size_t bytes) {
  kept found; // its lease ends without the lock
  {
    const std::lock_guard lock{mutex_};
    const auto at = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                 [&](const kept& k) { return k.block.bytes() == bytes; });
    if (at != blocks_.rend()) {
      found = std::move(*at);
      blocks_.erase(std::next(at).base());
    }
  }
  permit(found.block);
  return std::move(found.block);
}

void block_pool::give(memory_block block) noexcept {
  std::vector<kept> unused; // die without the lock
  const std::lock_guard lock{mutex_};
  ++returns_;
  forbid(block);
  try {
    const auto first_used = std::find_if(blocks_.begin(), blocks_.end(),
                                         [this](const kept& k) { return k.returned + patience > returns_; });
    unused.assign(std::make_move_iterator(blocks_.begin()), std::make_move_iterator(first_used));
    blocks_.erase(blocks_.begin(), first_used);
    memory_lease lease;
    if (ledger_->try_lease(block.bytes(), memory_use::cached, lease) == lease_outcome::granted)
      blocks_.push_back({std::move(block), std::move(lease), returns_});
  } catch (const std::bad_alloc&) {
    // The block is freed.
  }
}

bool block_pool::trim() noexcept {
  std::vector<kept> freed; // die without the lock
  const std::lock_guard lock{mutex_};
  freed.swap(blocks_);
  return !freed.empty();
}

} // namespace sluice
