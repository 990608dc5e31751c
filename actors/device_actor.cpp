#include <sluice/actors/device_actor.hpp>

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>

namespace sluice {

namespace {

using memory_atom = caf::atom_constant<caf::atom("memory")>;

caf::behavior device_behavior(caf::event_based_actor*, const std::shared_ptr<memory_ledger>& ledger) {
  return {[ledger](memory_atom) { return ledger->report(); }};
}

} // namespace

caf::actor spawn_device_actor(caf::actor_system& system, std::shared_ptr<memory_ledger> ledger) {
  return system.spawn(device_behavior, std::move(ledger));
}

} // namespace sluice
