#pragma once

#include <sluice/devices/device.hpp>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <memory>

namespace sluice {

/// A device as an actor: owns its ledger; answers the message `memory` (an atom) with the ledger's report.
/// When an accelerator is lost its actor ends with an error, so that those who monitor it hear.
///
/// Lifetime: a watch of the actor's device is kept until the guard goes, which must be before the system
/// does.
class device_watch {
public:
  /// @param accelerator  null: a device that cannot be lost
  device_watch(caf::actor_system& system, const std::shared_ptr<memory_ledger>& ledger,
               const device* accelerator);
  /// Ends the actor.
  ~device_watch();
  device_watch(const device_watch&) = delete;
  device_watch& operator=(const device_watch&) = delete;

  [[nodiscard]] const caf::actor& actor() const noexcept { return actor_; }

private:
  struct target;

  caf::actor actor_;
  std::shared_ptr<target> target_; // whom the device's callback tells
};

} // namespace sluice
