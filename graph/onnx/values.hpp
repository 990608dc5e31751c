#pragma once

#include <sluice/graph/onnx/proto.hpp>
#include <sluice/graph/value.hpp>
#include <sluice/graph/value_type.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace sluice {
class mapped_file;
}

namespace sluice::proto {

/// Files beside a model that hold the bytes of its large tensors. Nothing outside the folder is opened.
class external_files {
public:
  /// An empty folder refuses every file.
  explicit external_files(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The file at `location` relative to the folder. Throws errc::invalid_model if that is outside of it, and
  /// errc::io_failed if it cannot be read.
  std::shared_ptr<const mapped_file> open(const std::string& location);

private:
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const mapped_file>> open_;
};

/// ONNX's number of an element type. Throws errc::unsupported or errc::invalid_model; `owner` says whose it
/// is.
[[nodiscard]] element_type element_type_from(int number, const std::string& owner);

/// The tensor that `t` encodes; large raw bytes are moved out of it, those in files are shared if they are
/// aligned. Throws errc::invalid_model, errc::unsupported or errc::io_failed naming the tensor.
[[nodiscard]] value tensor_from(onnx::TensorProto& t, external_files& files);

/// The dense tensor of a sparse one with at most `max_bytes` bytes.
[[nodiscard]] value tensor_from(onnx::SparseTensorProto& t, external_files& files, std::size_t max_bytes);

/// What `t` says of a value; `owner` names it in errors.
[[nodiscard]] value_type type_from(const onnx::TypeProto& t, const std::string& owner);

/// The same as ONNX writes it; what ONNX cannot say is left out.
[[nodiscard]] onnx::TypeProto type_to(const value_type& t);

/// A tensor of plain layout as ONNX writes it.
[[nodiscard]] onnx::TensorProto tensor_to(const value& v, const std::string& name);

} // namespace sluice::proto
