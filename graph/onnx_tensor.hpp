#pragma once

#include <sluice/graph/value.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// The value in the content of a .pb file as ONNX's tests have them: a TensorProto, SequenceProto, MapProto
/// or OptionalProto, as `kind` says (the file itself does not). Strings, maps and sequences of any depth that
/// the file format allows. External data is refused. Throws errc::invalid_model or errc::unsupported.
[[nodiscard]] SLUICE_API value read_onnx_value(std::span<const std::byte> bytes,
                                               value_kind kind = value_kind::tensor);

/// The same from a file, which errors name. Throws errc::io_failed too.
[[nodiscard]] SLUICE_API value read_onnx_value(const std::filesystem::path& file,
                                               value_kind kind = value_kind::tensor);

/// The content of a .pb file that holds `v`: a tensor of plain layout, sequence, map or optional. Throws
/// errc::invalid_argument for what ONNX cannot write.
[[nodiscard]] SLUICE_API std::vector<std::byte> onnx_bytes(const value& v, const std::string& name = {});

/// Writes `v` to a .pb file. Throws errc::io_failed, naming the file.
SLUICE_API void write_onnx_value(const std::filesystem::path& file, const value& v,
                                 const std::string& name = {});

} // namespace sluice
