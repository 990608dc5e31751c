#pragma once

#include <sluice/devices/device_event.hpp>
#include <sluice/graph/value.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sluice {

class device;

/// Where a piece of work finds itself when the device issues it.
struct issue_context {
  worker* thread = nullptr; ///< that computes, where kernels run on the host's threads; null elsewhere
  void* native = nullptr;   ///< the stream in the device's own library; null on a simulated device
};

/// A piece of work for a stream.
struct device_work {
  /// Computes, or issues what computes to the native stream. Called at most once, on any thread, now or
  /// later; must not block. What it throws fails the piece. It is destroyed when the piece is over, so what
  /// it owns outlives the work.
  std::function<void(const issue_context&)> run;
  /// What it takes on one thread of the host's CPU: a simulated clock counts with it.
  std::chrono::nanoseconds estimate{0};
  /// Events, of any stream and device, that come first. If one of them failed, the piece does not run and
  /// fails alike.
  std::vector<event_ptr> after{};
};

/// Which way a copy goes, as seen by the stream's device.
enum class copy_kind : std::uint8_t {
  to_device, ///< from the host
  to_host,
  on_device,
  from_peer, ///< from another device
};

/// A copy for a stream.
struct device_copy {
  copy_kind kind = copy_kind::to_device;
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  device* peer = nullptr;         ///< of from_peer: where `from` lies; lives until the copy is over
  value to_owner{};               ///< kept until the copy is over; empty where the caller sees to it
  value from_owner{};             ///< likewise
  std::vector<event_ptr> after{}; ///< as of device_work
};

/// Work of a device, done in the order in which it was enqueued. Streams of one device run beside each other.
///
/// Nothing here blocks or throws because the device fails: the events say so. A failure travels along `after`
/// alone, not along the stream, so that a failed frame does no harm to the next one.
///
/// Lifetime: may be dropped at any time, what is enqueued goes on; it may outlive its device, which then
/// fails all that is enqueued. @threadsafe all members; the order of calls is the order of work.
class SLUICE_API device_stream {
public:
  virtual ~device_stream() = default;
  device_stream(const device_stream&) = delete;
  device_stream& operator=(const device_stream&) = delete;

  /// The event is done when the work is. Throws errc::invalid_argument if there is nothing to run.
  virtual event_ptr enqueue(device_work work) = 0;

  /// The event is done when the bytes are there. Throws errc::invalid_argument for a null address or a
  /// missing peer.
  virtual event_ptr copy(device_copy what) = 0;

  /// Done when everything that was enqueued before is over, however it ended; fails only with the device.
  virtual event_ptr record() = 0;

  /// What is enqueued from now on begins after `e` is done, however it ended.
  virtual void wait_for(event_ptr e) = 0;

protected:
  device_stream() = default;
};

} // namespace sluice
