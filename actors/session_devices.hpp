#pragma once

#include <sluice/actors/engine_device.hpp>
#include <sluice/actors/options.hpp>
#include <sluice/devices/device_stream.hpp>
#include <sluice/devices/frame_memory.hpp>
#include <sluice/devices/memory_ledger.hpp>
#include <sluice/scheduler/plan.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct frame;

/// A session's part of its engine's devices: books, streams, the accounts of its frames, weights on
/// accelerators, and which are lost. Device 0 is the host, whose books the session keeps itself.
///
/// @threadsafe streams, bring() and could_hold(); the rest under the session's lock.
class session_devices {
public:
  /// Throws errc::invalid_argument for a budget on a device that there is not.
  session_devices(std::vector<engine_device> devices, const session_options& o, std::uint32_t window);

  [[nodiscard]] std::size_t count() const noexcept { return members_.size(); }
  [[nodiscard]] const engine_device& at(std::uint32_t d) const noexcept { return members_[d].shared; }
  /// The session's part of a device's books; null for the host.
  [[nodiscard]] const std::shared_ptr<memory_ledger>& ledger(std::uint32_t d) const noexcept {
    return members_[d].ledger;
  }

  /// The devices as plans know them, those lost with the reason.
  [[nodiscard]] std::vector<plan_device> for_plans() const;
  /// Nothing goes to device `d` any more. False if that was known.
  bool lose(std::uint32_t d, std::string why);
  /// Whether `p` uses a device that is lost.
  [[nodiscard]] bool lost(const plan& p) const;

  /// Whether frames of `p` could ever get their bytes on devices other than the host.
  [[nodiscard]] bool could_hold(const plan& p) const;
  /// Leases what a frame of `p` needs on devices other than the host: all, or none and false; then `retry` is
  /// called once, on any thread, when bytes have become free. Throws errc::out_of_memory if it never fits.
  [[nodiscard]] bool try_lease(const plan& p, std::vector<memory_lease>& leases,
                               const std::function<void()>& retry);
  /// Gives `f` its accounts, and takes them back when it is quiescent.
  void open(frame& f, const plan& p, std::vector<memory_lease> leases);
  static void close(frame& f);

  /// A constant in the memory of accelerator `d`, on its way there at least: one copy for all plans that use
  /// it. Throws errc::out_of_memory, device_lost.
  [[nodiscard]] value bring(const value& constant, std::uint32_t d);

  enum class way : std::uint8_t { compute, in, out };
  /// A stream of accelerator `d`; equal numbers give the same.
  [[nodiscard]] device_stream& stream(std::uint32_t d, way w, std::size_t number) const noexcept;

private:
  struct member {
    engine_device shared;
    std::shared_ptr<memory_ledger> ledger;
    std::vector<std::unique_ptr<device_stream>> streams[3]; // by way
    intrusive_ptr<memory> weights;                          // of an accelerator
    std::string lost;                                       // why; empty while it works
    std::shared_ptr<std::atomic<bool>> watched;             // somebody hears when bytes become free
    std::vector<intrusive_ptr<frame_memory>> accounts;      // by slot
  };
  struct weight {
    value host; // kept, so that no other gets its address
    value placed;
  };

  void forget_unused();

  std::vector<member> members_;
  std::mutex weights_mutex_;
  std::map<std::pair<const value_body*, std::uint32_t>, weight> weights_; // guarded by weights_mutex_
  std::size_t forget_at_ = 256;                                           // guarded by weights_mutex_
};

} // namespace sluice
