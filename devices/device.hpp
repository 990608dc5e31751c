#pragma once

#include <sluice/devices/device_stream.hpp>
#include <sluice/devices/memory_ledger.hpp>
#include <sluice/graph/export.hpp>
#include <sluice/graph/memory.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace sluice {

/// What a device can do, for cost estimates.
struct device_capacity {
  std::size_t memory = 0;              ///< bytes
  double rate = 1;                     ///< arithmetic, relative to one thread of the host's CPU
  double memory_bandwidth = 0;         ///< of its own memory, bytes per second; 0: unknown
  double bandwidth = 0;                ///< of its link to the host, each way, bytes per second
  std::chrono::nanoseconds latency{0}; ///< of one copy over that link, before the first byte
  unsigned copy_engines = 1;           ///< copies that proceed at once
  unsigned streams = 1;                ///< streams whose work proceeds at once
};

/// An accelerator: memory of its own under a budget, and streams that work asynchronously.
///
/// A device can be lost: then all that is enqueued and all that follows fails with errc::device_lost, and
/// allocations throw it. Memory stays accounted until it is freed.
///
/// Lifetime: its destructor fails what has not begun and returns when nothing executes; call it neither from
/// work nor from an event's callback. Memory, ledger, streams and events may outlive it. @threadsafe all
/// members.
class SLUICE_API device {
public:
  virtual ~device();
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  /// "sim:0"
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const device_capacity& capacity() const noexcept { return capacity_; }

  /// The books of its memory; the budget is the capacity.
  [[nodiscard]] const std::shared_ptr<memory_ledger>& ledger() const noexcept { return ledger_; }

  /// Its memory, each block charged to the ledger for frames. Throws errc::out_of_memory, errc::device_lost.
  [[nodiscard]] virtual sluice::memory& memory() noexcept = 0;

  /// The same without charging, for who leased the bytes beforehand.
  [[nodiscard]] virtual sluice::memory& leased_memory() noexcept = 0;

  /// Memory of the host from which copies proceed asynchronously, under a budget of its own.
  [[nodiscard]] virtual sluice::memory& staging() noexcept = 0;

  /// A new stream. On a lost device one whose work fails.
  [[nodiscard]] virtual std::unique_ptr<device_stream> make_stream() = 0;

  /// The time on the device's clock.
  [[nodiscard]] virtual std::chrono::nanoseconds now() const = 0;

  /// Done when the device is lost; its failure says why.
  [[nodiscard]] virtual event_ptr loss() const noexcept = 0;

  /// Gives the device up, for who finds it broken. Only the first reason counts.
  virtual void lose(const std::string& why) = 0;

protected:
  device(std::string name, const device_capacity& capacity)
    : name_(std::move(name)), capacity_(capacity), ledger_(memory_ledger::make(name_, capacity.memory)) {}

private:
  const std::string name_;
  const device_capacity capacity_;
  const std::shared_ptr<memory_ledger> ledger_;
};

} // namespace sluice
