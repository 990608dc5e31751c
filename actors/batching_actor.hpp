#pragma once

#include <sluice/actors/cut_run.hpp>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <memory>
#include <vector>

namespace sluice {

class session_core;

/// The session's batching actor: runs requests that never fit, in parts, one request after another in the
/// order of their arrival, and requests that waited, several as one batch.
[[nodiscard]] caf::actor spawn_batching_actor(caf::actor_system& system, std::weak_ptr<session_core> core);

/// Hands a request over; it has its outcome from the batching actor, unless it is stopped before. @threadsafe
void cut_request(const caf::actor& batching, oversized_request what);

/// Hands over requests of one plan to run as one batch. @threadsafe
void join_requests(const caf::actor& batching, std::vector<intrusive_ptr<run_state>> requests);

/// Has the actor stop the parts of requests that have an outcome already. @threadsafe
void stop_parts(const caf::actor& batching);

} // namespace sluice
