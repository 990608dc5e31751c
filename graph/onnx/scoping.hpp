#pragma once

#include <sluice/graph/onnx/proto.hpp>

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sluice::proto {

using node_list = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// The bodies that the attributes of a node hold.
[[nodiscard]] std::vector<onnx::AttributeProto*> bodies_of(onnx::NodeProto& n);

/// "Conv 'conv1'", for messages.
[[nodiscard]] std::string title(const onnx::NodeProto& n);

/// Which names graphs define and which they take from around them. Remembers answers by the graph's address.
class scoping {
public:
  /// All names that `g` defines: inputs, initializers and node outputs. Throws errc::invalid_model if two
  /// things have the same name.
  const std::unordered_set<std::string>& defined(const onnx::GraphProto& g);

  /// Names that `g` takes from outside, bodies within it included, in the order of their first use.
  const std::vector<std::string>& free_names(const onnx::GraphProto& g);

  /// The order in which every value is made before it is used: as listed where that will do. Throws
  /// errc::invalid_model if values depend on themselves.
  std::vector<onnx::NodeProto*> ordered(node_list& nodes);

private:
  std::unordered_map<const onnx::GraphProto*, std::unordered_set<std::string>> defined_;
  std::unordered_map<const onnx::GraphProto*, std::vector<std::string>> free_;
};

} // namespace sluice::proto
