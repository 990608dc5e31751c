#pragma once

#include <filesystem>

namespace sluice::tools {

/// Throws command_error (exit_code::bad_file) if nothing can be written to `file`: asked before work is done
/// whose results go there. Makes no file.
void check_destination(const std::filesystem::path& file);

} // namespace sluice::tools
