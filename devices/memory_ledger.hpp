#pragma once

#include <sluice/graph/export.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

class memory_lease;

/// What leased bytes are for.
enum class memory_use : std::uint8_t {
  weights, ///< constants of graphs
  packed,  ///< constants in another layout, for kernels
  frames,  ///< values and scratch space of frames in flight
  held,    ///< results that callers still hold
  cached,  ///< free blocks that are kept to be used again; given back when somebody needs the bytes
};
inline constexpr std::size_t memory_use_count = 5;

[[nodiscard]] SLUICE_API std::string_view to_string(memory_use use) noexcept;

/// What a request for memory meets.
enum class lease_outcome : std::uint8_t {
  granted,
  full,       ///< fits the budget, but not now: ask again when a lease ends
  never_fits, ///< more than the whole budget: cut the request
};

/// The books of a device's memory, or of one session's part of it: grants leases up to a budget, allocates
/// nothing.
///
/// Invariant: what is leased, cached blocks included, is at most budget() at every moment, seen from any
/// thread. A ledger with a parent leases
/// there too: both grant, or neither. Leases keep their ledger alive.
///
/// @threadsafe all members; granting is lock-free.
class SLUICE_API memory_ledger : public std::enable_shared_from_this<memory_ledger> {
public:
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  /// @param name    of the device or session, for errors and reports
  /// @param budget  bytes that may be leased at once
  [[nodiscard]] static std::shared_ptr<memory_ledger> make(std::string name, std::size_t budget = unlimited,
                                                           std::shared_ptr<memory_ledger> parent = nullptr);
  memory_ledger(const memory_ledger&) = delete;
  memory_ledger& operator=(const memory_ledger&) = delete;

  /// Moves a lease of `bytes` into `lease` if they are free; otherwise leaves it untouched. Never blocks.
  [[nodiscard]] lease_outcome try_lease(std::size_t bytes, memory_use use, memory_lease& lease);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::size_t budget() const noexcept { return budget_; }
  /// Bytes in use, without those that are cached.
  [[nodiscard]] std::size_t in_use() const noexcept {
    const auto cached = in_use(memory_use::cached);
    return std::max(in_use_.load(std::memory_order_relaxed), cached) - cached; // one may lag behind the other
  }
  [[nodiscard]] std::size_t in_use(memory_use use) const noexcept {
    return by_use_[static_cast<std::size_t>(use)].load(std::memory_order_relaxed);
  }
  /// The most bytes ever leased at once.
  [[nodiscard]] std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

  /// Calls `retry` once, on the thread that ends a lease, when bytes have become free after this call. It
  /// must be short and must not throw.
  void when_freed(std::function<void()> retry);

  /// Has `reclaim` called when a lease does not fit, by whoever asks for it; it gives cached bytes back and
  /// says whether there were any. Once, before the ledger is shared; null takes it back.
  void reclaim_by(std::function<bool()> reclaim);

  /// "cpu:0: 12 of 100 bytes in use (weights 4, packed 0, frames 8, held by callers 0, cached 0)"
  [[nodiscard]] std::string report() const;

private:
  friend class memory_lease;

  memory_ledger(std::string name, std::size_t budget, std::shared_ptr<memory_ledger> parent)
    : name_(std::move(name)), budget_(budget), parent_(std::move(parent)) {}

  [[nodiscard]] lease_outcome take(std::size_t bytes, memory_use use) noexcept;
  [[nodiscard]] lease_outcome take_free(std::size_t bytes, memory_use use) noexcept;
  [[nodiscard]] bool reclaim() noexcept;
  void give_back(std::size_t bytes, memory_use use) noexcept;
  void change_use(std::size_t bytes, memory_use from, memory_use to) noexcept;

  const std::string name_;
  const std::size_t budget_;
  const std::shared_ptr<memory_ledger> parent_;
  // The counters guard no other data: the bytes that they count reach other threads through messages, which
  // order memory. Relaxed is enough.
  std::atomic<std::size_t> in_use_ = 0;
  std::atomic<std::size_t> peak_ = 0;
  std::array<std::atomic<std::size_t>, memory_use_count> by_use_{};
  // Set while somebody waits. A waiter sets it before its last try, a giver reads it after giving: in one
  // total order (both sequentially consistent), so one of them sees the other.
  std::atomic<bool> anybody_waits_ = false;
  std::mutex reclaim_mutex_;
  std::function<bool()> reclaim_; // guarded by reclaim_mutex_
  std::mutex waiters_mutex_;
  std::vector<std::function<void()>> waiters_; // guarded by waiters_mutex_; only where there is no parent
};

/// Bytes leased from a ledger, given back when the lease dies. Movable, not copyable.
///
/// @threadsafe to destroy on any thread; otherwise as any value.
class SLUICE_API memory_lease {
public:
  memory_lease() noexcept = default;
  memory_lease(memory_lease&& other) noexcept { swap(other); }
  memory_lease& operator=(memory_lease other) noexcept {
    swap(other);
    return *this;
  }
  ~memory_lease();

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] memory_ledger* ledger() const noexcept { return ledger_.get(); }

  /// Leases `more` bytes on top. False, with nothing changed, if they are not free.
  [[nodiscard]] bool try_grow(std::size_t more);
  /// Gives all but `bytes` back; at most what it has.
  void shrink_to(std::size_t bytes) noexcept;
  /// Books the bytes under another use.
  void use_for(memory_use use) noexcept;

private:
  friend class memory_ledger;

  memory_lease(std::shared_ptr<memory_ledger> ledger, std::size_t bytes, memory_use use) noexcept
    : ledger_(std::move(ledger)), bytes_(bytes), use_(use) {}

  void swap(memory_lease& other) noexcept {
    ledger_.swap(other.ledger_);
    std::swap(bytes_, other.bytes_);
    std::swap(use_, other.use_);
  }

  std::shared_ptr<memory_ledger> ledger_;
  std::size_t bytes_ = 0;
  memory_use use_ = memory_use::frames;
};

} // namespace sluice
