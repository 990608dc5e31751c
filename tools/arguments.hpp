#pragma once

#include <tools/exit_code.hpp>

namespace sluice::tools {

/// Understands the command line and carries it out. Help and version go to standard output. Throws
/// command_error (usage) for what cannot be understood, and what the subcommands throw.
exit_code run_command_line(int argc, const char* const* argv);

} // namespace sluice::tools
