#pragma once

#include <sluice/devices/memory_ledger.hpp>
#include <sluice/graph/export.hpp>
#include <sluice/graph/memory.hpp>

#include <memory>
#include <mutex>
#include <unordered_map>

namespace sluice {

/// Memory of which every block is charged to a ledger while it lives.
///
/// @threadsafe all members.
class SLUICE_API ledger_memory final : public memory {
public:
  /// @param from  where the bytes come from
  ledger_memory(intrusive_ptr<memory> from, std::shared_ptr<memory_ledger> ledger, memory_use use);

  /// Throws errc::out_of_memory with the ledger's report, and what `from` throws.
  [[nodiscard]] void* allocate(std::size_t bytes) override;
  void deallocate(void* block, std::size_t bytes) noexcept override;

private:
  const intrusive_ptr<memory> from_;
  const std::shared_ptr<memory_ledger> ledger_;
  const memory_use use_;
  std::mutex mutex_;
  std::unordered_map<void*, memory_lease> leases_; // of the blocks; guarded by mutex_
};

} // namespace sluice
