#pragma once

#include <sluice/actors/session.hpp>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <string_view>

namespace sluice {

/// Prepares the configuration of the user's own actor system for engine(system): registers the message types
/// and runs actors on the process's CPU threads. Call before the system is made.
SLUICE_API void configure(caf::actor_system_config& config);

/// The session as an actor: takes run_request, open_frame and await_frame.
[[nodiscard]] SLUICE_API caf::actor handle_of(const session& s);

/// A node's actor: may be monitored, linked, sent a token, killed. After a kill it stays dead, and the node
/// has a new one. Nodes of bodies are named "owner/inner". Throws errc::invalid_argument if there is no such
/// node.
[[nodiscard]] SLUICE_API caf::actor node_of(const session& s, std::string_view name);

} // namespace sluice
