#pragma once

// ONNX's generated messages. They stay inside graph/onnx and graph/*.cpp: no public header shows them.
#include <onnx/onnx-data_pb.h>

#include <sluice/graph/error.hpp>

#include <string>

namespace sluice::proto {

/// The domain as the registry knows it: ONNX's own is "".
[[nodiscard]] inline std::string domain_of(const std::string& written) {
  return written == "ai.onnx" ? std::string{} : written;
}

[[noreturn]] inline void malformed(const std::string& why) {
  throw error{errc::invalid_model, why};
}

[[noreturn]] inline void unsupported(const std::string& why) {
  throw error{errc::unsupported, why};
}

} // namespace sluice::proto
