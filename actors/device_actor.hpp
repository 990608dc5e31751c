#pragma once

#include <sluice/devices/memory_ledger.hpp>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <memory>

namespace sluice {

/// A device as an actor: owns its ledger; answers the message `memory` (an atom) with the ledger's report.
[[nodiscard]] caf::actor spawn_device_actor(caf::actor_system& system, std::shared_ptr<memory_ledger> ledger);

} // namespace sluice
