#pragma once

#include <sluice/actors/frame.hpp>
#include <sluice/devices/kernel.hpp>

#include <exception>
#include <span>

namespace sluice {

/// Runs what a step stands for: a kernel, a C++ function, control flow. completion::pending: the firing ends
/// elsewhere, through a token. Throws what the kernel or function throws.
completion execute_step(frame& f, const executable_step& s, std::span<value> inputs, std::span<value> outputs,
                        worker& here);

/// Runs a kernel or a pure function, whose values are to lie in `from`. As execute_step().
completion compute(frame& f, const executable_step& s, std::span<value> inputs, std::span<value> outputs,
                   worker& here, memory& from);

/// Throws if what a function made is not of the declared types.
void check_types(const frame& f, const executable_step& s, std::span<const value> outputs);

/// An error that names the node, made from whatever its kernel or function threw.
[[nodiscard]] std::exception_ptr named_failure(const graph::node& n, std::exception_ptr why);

/// Throws if a firing that was executed must not count: its actor was killed, or it left an output empty.
void check_firing(const frame& f, const executable_step& s, std::span<const value> outputs);

} // namespace sluice
