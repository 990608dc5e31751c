#include <sluice/devices/ledger_memory.hpp>

#include <sluice/graph/error.hpp>

#include <string>
#include <utility>

namespace sluice {

ledger_memory::ledger_memory(intrusive_ptr<memory> from, std::shared_ptr<memory_ledger> ledger,
                             memory_use use)
  : from_(std::move(from)), ledger_(std::move(ledger)), use_(use) {}

void* ledger_memory::allocate(std::size_t bytes) {
  memory_lease lease;
  if (ledger_->try_lease(bytes, use_, lease) != lease_outcome::granted)
    throw error{errc::out_of_memory,
                ledger_->name() + " has no " + std::to_string(bytes) + " bytes left; " + ledger_->report()};
  auto* const block = from_->allocate(bytes);
  try {
    const std::lock_guard lock{mutex_};
    leases_.emplace(block, std::move(lease));
  } catch (...) {
    from_->deallocate(block, bytes);
    throw;
  }
  return block;
}

void ledger_memory::deallocate(void* block, std::size_t bytes) noexcept {
  decltype(leases_)::node_type freed; // ends without the lock: who waits for bytes may ask for them at once
  {
    const std::lock_guard lock{mutex_};
    freed = leases_.extract(block);
  }
  from_->deallocate(block, bytes);
}

} // namespace sluice
