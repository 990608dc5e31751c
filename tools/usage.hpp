#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

/// What the command line takes, and what is said where it is wrong.
namespace sluice::tools {

/// A whole number in a range. Unlike CLI11's own, it lets no number wrap around.
[[nodiscard]] CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

enum class real_range { any, not_negative, positive, not_zero };

/// A finite number.
[[nodiscard]] CLI::Validator real_number(real_range range = real_range::any);

/// The name of a file, which cannot be empty.
[[nodiscard]] CLI::Validator file_name();

/// One sentence for what `app` refused, with the page of help that says more.
[[nodiscard]] std::string usage_sentence(const CLI::App& app, const CLI::ParseError& problem);

} // namespace sluice::tools
