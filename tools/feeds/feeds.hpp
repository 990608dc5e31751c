#pragma once

#include <sluice/graph/graph.hpp>

#include <tools/feeds/input_source.hpp>

#include <map>
#include <span>
#include <string>

namespace sluice::tools {

using named_values = std::map<std::string, value, std::less<>>;

/// What happens to an input that no `--input` names.
enum class missing_input { refuse, random };

/// Throws command_error if `dims` names a symbol that no input of the graph has.
void check_symbols(const graph& g, const dim_values& dims);

/// The values of a graph's inputs from `--input` texts: `NAME=SOURCE`; `SOURCE` alone for a graph with one
/// input left; `FILE.npz` alone, whose arrays have the names of inputs.
///
/// Throws command_error in one sentence for a name that is no input, an input given twice or not at all, a
/// value that its input does not admit, and all that load_source() throws.
[[nodiscard]] named_values load_feeds(const graph& g, std::span<const std::string> texts,
                                      const input_options& options, missing_input missing);

} // namespace sluice::tools
