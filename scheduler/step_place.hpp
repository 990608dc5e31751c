#pragma once

#include <sluice/scheduler/node_places.hpp>

#include <cstddef>

namespace sluice {

struct plan_step;

/// Decides where a step goes, whose node has a place in `places`: there, if that device can execute it, else
/// to the host, which `why` then says. On a device that has its own memory constants are brought there.
///
/// An accelerator executes operators whose types are all known in advance; other CPU devices execute
/// operators and functions without state. Throws errc::unsupported that names the node if places are strict
/// and it cannot go where it is to, and what bringing constants throws.
void place_step(plan_step& step, const graph::node& n, const node_places& places);

/// True if output `port` of `n` is always a view of its first input, or that input itself.
[[nodiscard]] SLUICE_API bool is_view(const graph::node& n, std::size_t port) noexcept;

} // namespace sluice
