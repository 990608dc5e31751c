#pragma once

#include <sluice/actors/frame.hpp>
#include <sluice/devices/kernel.hpp>

#include <span>

namespace sluice {

/// Fires a step that another device than the host executes, or that brings a value from one memory to
/// another.
///
/// On an accelerator it only enqueues: the outputs are there at once, each with the event that says when its
/// elements are; the frame has an activity more until that event is done, and fails if the work failed. What
/// comes to the host, and what another CPU device computes, completes later.
///
/// Throws errc::out_of_memory and errc::device_lost where no room can be made for the outputs.
completion fire_elsewhere(frame& f, const executable_step& s, std::span<value> inputs,
                          std::span<value> outputs);

} // namespace sluice
