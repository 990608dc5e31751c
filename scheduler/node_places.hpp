#pragma once

#include <sluice/graph/graph.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class placement_file;

/// A device as plans know it.
struct plan_device {
  std::string name;
  bool own_memory = false; ///< an accelerator: values are copied to it and from it
  std::string lost{};      ///< why nothing may go there; empty while it works
};

/// Where the nodes of a graph are to go, and by whose word.
struct node_places {
  static constexpr std::string_view unsaid =
      "nothing says where"; ///< why a node without a scope is on the host

  std::vector<plan_device> devices;  ///< the first one is the host, "cpu:0"
  std::vector<std::uint32_t> device; ///< by node
  std::vector<std::string> why;      ///< by node: "its scope is 'sim'"
  bool strict = false;               ///< a node that cannot go there is an error
  /// Brings a constant to the memory of a device that has its own. Throws errc::out_of_memory, device_lost.
  std::function<value(const value& constant, std::uint32_t device)> bring{};
};

/// Places by device scope alone: those of `rules`, if it is given, before those in the graph; nodes of one
/// colocation group go where the first of them with a scope goes; whoever has none to the host. Of a partial
/// name's devices the first one that works is taken.
///
/// Throws errc::invalid_argument, naming the node, for a scope that is no name, and, if `strict`, for one
/// that names no device here; errc::device_lost, if `strict`, where the devices it names are lost.
[[nodiscard]] SLUICE_API node_places place_by_scope(const graph& g, std::span<const plan_device> devices,
                                                    const placement_file* rules, bool strict);

} // namespace sluice
