#pragma once

#include <sluice/graph/graph.hpp>

#include <filesystem>
#include <string>

namespace sluice::tools {

/// The graph in Graphviz's language: a box a node, an arrow an edge with its type; weights are left out.
[[nodiscard]] std::string to_dot(const graph& g);

/// Writes the graph as a picture, drawn by Graphviz's program `dot`. Throws command_error: unsupported if
/// that is not installed, bad_file if it fails or the file cannot be written.
void save_svg(const std::filesystem::path& file, const graph& g);

} // namespace sluice::tools
