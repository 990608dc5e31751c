#include <sluice/actors/device_actor.hpp>

#include <caf/atom.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>

#include <mutex>
#include <utility>

namespace sluice {

namespace {

using memory_atom = caf::atom_constant<caf::atom("memory")>;
using lost_atom = caf::atom_constant<caf::atom("lost")>;

caf::behavior device_behavior(caf::event_based_actor* self, const std::shared_ptr<memory_ledger>& ledger) {
  return {
      [ledger](memory_atom) { return ledger->report(); },
      [self, ledger](lost_atom) {
        self->quit(caf::make_error(caf::sec::runtime_error, ledger->name() + " is lost"));
      },
  };
}

} // namespace

/// Between the device, which may outlive the actor system, and the actor.
struct device_watch::target {
  std::mutex mutex;
  caf::actor actor; // guarded by mutex; null once nobody is to be told
};

device_watch::device_watch(caf::actor_system& system, const std::shared_ptr<memory_ledger>& ledger,
                           const device* accelerator)
  : actor_(system.spawn(device_behavior, ledger)), target_(std::make_shared<target>()) {
  if (!accelerator)
    return;
  target_->actor = actor_;
  accelerator->loss()->when_done([target = target_] {
    const std::lock_guard lock{target->mutex};
    if (target->actor)
      caf::anon_send(target->actor, lost_atom::value);
  });
}

device_watch::~device_watch() {
  const std::lock_guard lock{target_->mutex};
  target_->actor = nullptr;
  caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
}

} // namespace sluice
