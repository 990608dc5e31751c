#include "weights.hpp"

#include "files.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <unordered_map>

#include <onnx/onnx-data_pb.h>

namespace sluice::test {

namespace {

void fill(onnx::TensorProto& t, const golden::weight& w, std::uint64_t seed) {
  t.Clear();
  t.set_name(w.name);
  t.set_data_type(onnx::TensorProto::FLOAT);
  for (const auto extent : w.dims)
    t.add_dims(extent);
  auto& raw = *t.mutable_raw_data();
  const auto count = static_cast<std::size_t>(w.dims.elements());
  raw.resize(count * sizeof(float));
  for (std::size_t i = 0; i < count; ++i) {
    const auto element = random_float(seed, i, w.base, w.scale);
    std::memcpy(raw.data() + i * sizeof(float), &element, sizeof(float));
  }
}

} // namespace

std::vector<std::byte> reweighted_model(const golden& g) {
  onnx::ModelProto model;
  std::ifstream in{asset(g.model), std::ios::binary};
  if (!model.ParseFromIstream(&in))
    throw error{errc::invalid_argument, g.model.string() + ": not a model"};
  auto& graph = *model.mutable_graph();
  std::unordered_map<std::string, onnx::TensorProto*> initializers;
  for (auto& t : *graph.mutable_initializer())
    initializers[t.name()] = &t;
  auto& nodes = *graph.mutable_node();
  for (const auto& w : g.weights) {
    auto*& weight = initializers[w.name];
    if (!weight) {
      const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) {
        return n.op_type() == "ConstantOfShape" && n.output(0) == w.name;
      });
      if (node == nodes.end())
        throw error{errc::invalid_argument, g.model.string() + " has no weight '" + w.name + "'"};
      nodes.erase(node);
      weight = graph.add_initializer();
    }
    fill(*weight, w, seed_of(g.name + ":" + w.name));
  }
  std::vector<std::byte> bytes(model.ByteSizeLong());
  if (!model.SerializeToArray(bytes.data(), static_cast<int>(bytes.size())))
    throw error{errc::invalid_argument, g.model.string() + " cannot be written with other weights"};
  return bytes;
}

} // namespace sluice::test
