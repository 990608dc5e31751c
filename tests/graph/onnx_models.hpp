#pragma once

#include <tests/support/says.hpp>
#include <tests/support/temporary_folder.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <onnx/defs/parser.h>
#include <onnx/onnx-data_pb.h>

namespace sluice::test {

/// The model that ONNX's text format describes, to be amended by the test.
inline onnx::ModelProto model_of(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  BOOST_REQUIRE_MESSAGE(status.IsOK(), status.ErrorMessage());
  return model;
}

/// The same with a usual head before the graph.
inline onnx::ModelProto model_with(const std::string& graph, int opset = 17) {
  return model_of("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>\n" + graph);
}

inline std::vector<std::byte> bytes_of(const google::protobuf::Message& m) {
  std::vector<std::byte> bytes(m.ByteSizeLong());
  BOOST_REQUIRE(m.SerializeToArray(bytes.data(), static_cast<int>(bytes.size())));
  return bytes;
}

inline void write(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  std::ofstream out{file, std::ios::binary};
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  BOOST_REQUIRE(out.flush());
}

} // namespace sluice::test
