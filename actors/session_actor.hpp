#pragma once

#include <sluice/actors/plan_book.hpp>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <memory>
#include <vector>

namespace sluice {

class session_core;

/// The session as an actor: answers run_request, open_frame and await_frame, keeps time for deadlines, and
/// supervises the nodes: one that is killed gets a successor.
[[nodiscard]] caf::actor spawn_session_actor(caf::actor_system& system, std::weak_ptr<session_core> core,
                                             std::vector<caf::actor> nodes);

/// The session's placement actor: makes plans, one at a time, for requests that wait for them, and new ones
/// when a device is lost.
/// @param devices  the actors of the session's devices, which it monitors
[[nodiscard]] caf::actor spawn_placement_actor(caf::actor_system& system, std::weak_ptr<session_core> core,
                                               std::vector<caf::actor> devices);

/// Asks the placement actor for a plan. @threadsafe
void ask_for_plan(const caf::actor& placement, std::shared_ptr<const plan_book::ticket> order);

/// Lets the session actor look at the deadlines at time `t`. @threadsafe
void tick_at(caf::actor_system& system, const caf::actor& session, std::chrono::steady_clock::time_point t);

/// Lets the session actor end when it has answered all that it was asked. @threadsafe
void end_session_actor(const caf::actor& session);

/// Lets the session actor supervise `node`. @threadsafe
void monitor_node(const caf::actor& session, const caf::actor& node);

} // namespace sluice
