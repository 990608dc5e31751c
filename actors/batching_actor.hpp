#pragma once

#include <sluice/actors/cut_run.hpp>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <memory>

namespace sluice {

class session_core;

/// The session's batching actor: runs requests that never fit, in parts, one request after another in the
/// order of their arrival.
[[nodiscard]] caf::actor spawn_batching_actor(caf::actor_system& system, std::weak_ptr<session_core> core);

/// Hands a request over; it has its outcome from the batching actor, unless it is stopped before. @threadsafe
void cut_request(const caf::actor& batching, oversized_request what);

/// Has the actor stop the parts of requests that have an outcome already. @threadsafe
void stop_parts(const caf::actor& batching);

} // namespace sluice
