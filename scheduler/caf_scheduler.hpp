#pragma once

#include <sluice/devices/executor.hpp>

#include <caf/fwd.hpp>

#include <chrono>
#include <memory>

namespace sluice {

/// Makes actor systems configured by `config` run their actors as jobs of `threads`, so that actors of any
/// kind count in the process's CPU budget. Call before the system is made.
///
/// The system's destructor waits until its last job has run.
SLUICE_API void run_actors_on(caf::actor_system_config& config, std::shared_ptr<executor> threads);

/// The executor that runs the actors of `system`; null if its configuration was not given one.
[[nodiscard]] SLUICE_API std::shared_ptr<executor> executor_of(caf::actor_system& system);

/// Moves the clock of a system whose executor is stepped, and sends what is due by then. Such a clock stands
/// still otherwise. Throws errc::invalid_argument for any other system.
///
/// Only by the thread that steps the executor.
SLUICE_API void advance_time(caf::actor_system& system, std::chrono::nanoseconds by);

} // namespace sluice
