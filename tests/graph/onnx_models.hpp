#pragma once

#include <sluice/graph/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <onnx/defs/parser.h>
#include <onnx/onnx-data_pb.h>
#include <stdlib.h>

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

/// A folder that goes with the test.
class scratch_folder {
public:
  scratch_folder() {
    auto name = (std::filesystem::temp_directory_path() / "sluice_test_XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()));
    path_ = name;
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
  std::filesystem::path path_;
};

/// For BOOST_CHECK_EXCEPTION: the code, and every part, are in the error. Says what came instead.
inline auto says(errc code, std::vector<std::string> parts) {
  return [code, parts = std::move(parts)](const error& e) {
    auto all = e.code() == code;
    for (const auto& part : parts)
      all = all && std::string{e.what()}.find(part) != std::string::npos;
    if (!all)
      BOOST_TEST_MESSAGE("instead: " << to_string(e.code()) << ": " << e.what());
    return all;
  };
}

} // namespace sluice::test
