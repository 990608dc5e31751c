#pragma once

#include <sluice/devices/memory_ledger.hpp>
#include <sluice/graph/export.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice {

/// A block of the host's memory, 64-byte aligned, freed when it dies. Large ones come from the system and go
/// back there.
class SLUICE_API memory_block {
public:
  memory_block() noexcept = default;
  /// Throws errc::out_of_memory.
  explicit memory_block(std::size_t bytes);
  memory_block(memory_block&& other) noexcept { swap(other); }
  memory_block& operator=(memory_block other) noexcept {
    swap(other);
    return *this;
  }
  ~memory_block();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
  void swap(memory_block& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Keeps free blocks of a device, so that the next user of as many bytes finds warm memory. What it keeps is
/// charged to the ledger as cached and given back as soon as somebody needs the bytes, or when it was not
/// used for a while: for as many returns of blocks as `patience` says.
///
/// @threadsafe all members.
class SLUICE_API block_pool {
public:
  static constexpr std::uint64_t patience = 256;

  explicit block_pool(std::shared_ptr<memory_ledger> ledger);
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;
  ~block_pool();

  /// A kept block of exactly `bytes` bytes, from now on not charged any more; an empty one if there is none.
  [[nodiscard]] memory_block take(std::size_t bytes);
  /// Keeps the block if the ledger has room for it. The lease for its use has ended.
  void give(memory_block block) noexcept;
  /// Frees all that it keeps. False if there was nothing.
  bool trim() noexcept;

private:
  struct kept {
    memory_block block;
    memory_lease lease;
    std::uint64_t returned = 0;
  };

  const std::shared_ptr<memory_ledger> ledger_;
  std::mutex mutex_;
  std::vector<kept> blocks_;  // guarded by mutex_; the one used last at the end
  std::uint64_t returns_ = 0; // guarded by mutex_
};

} // namespace sluice
