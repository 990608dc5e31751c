#pragma once

#include <sluice/graph/graph.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Where the nodes of a graph go, as a file says it: for models that have no device scopes of their own.
///
/// A JSON object: `"mode"`, "soft" or "strict", and `"rules"`, an array whose members say which nodes they
/// mean
/// (`"node"`, a pattern of names; `"op"`, a pattern of operators; `"from"` and `"to"`, names of nodes: these
/// and all on the ways between them; several together: nodes that all of them mean) and what holds for these
/// (`"device"`, a name or partial name; `"colocate"`, the name of a group). In a pattern `*` stands for any
/// characters, `?` for one. For device and group each, the first rule that gives one to a node counts, and it
/// counts more than a scope in the graph.
class SLUICE_API placement_file {
public:
  struct rule {
    std::string node{}; ///< "" means any
    std::string op{};   ///< "" means any; operators of other domains are "domain::op"
    std::string from{};
    std::string to{};
    std::string device{};
    std::string colocate{};
  };

  /// What the rules say of a graph.
  struct outcome {
    std::vector<std::string> devices;     ///< by node: device scope, "" if there is none
    std::vector<std::string> colocations; ///< by node: group, "" if none
    std::vector<std::size_t> idle_rules;  ///< those that met no node, counted from 1
  };

  /// @param name  what errors call the text
  /// Throws errc::invalid_argument with line and column where `text` is no JSON, with the rule where it says
  /// something that it may not.
  [[nodiscard]] static placement_file parse(std::string_view text, const std::string& name = "placement");
  /// Reads a file. Throws as parse(), and errc::io_failed if it cannot be read.
  [[nodiscard]] static placement_file read(const std::filesystem::path& path);

  [[nodiscard]] std::optional<bool> strict() const noexcept { return strict_; }
  [[nodiscard]] const std::vector<rule>& rules() const noexcept { return rules_; }

  /// Throws errc::invalid_argument that names the rule if its "from" or "to" is no node of `g` or no way
  /// leads from the one to the other.
  [[nodiscard]] outcome apply(const graph& g) const;

private:
  std::string name_;
  std::optional<bool> strict_;
  std::vector<rule> rules_;
};

} // namespace sluice
