#pragma once

#include <cstddef>
#include <span>

namespace google::protobuf {
class Message;
}

namespace sluice::proto {

/// Bounds on what a file may hold, checked before any memory is spent on it.
struct wire_limits {
  std::size_t max_bytes;
  std::size_t max_objects; ///< messages and strings
};

/// Parses the file content `bytes` into `message`. Throws errc::invalid_model saying what is wrong, or
/// errc::unsupported for a file over the limits.
void parse(std::span<const std::byte> bytes, google::protobuf::Message& message, const wire_limits& limits);

} // namespace sluice::proto
