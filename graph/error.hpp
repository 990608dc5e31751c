#pragma once

#include <sluice/graph/export.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sluice {

/// What kind of thing went wrong; a program decides by this, a person reads the sentence.
enum class errc : std::uint8_t {
  invalid_argument,  ///< a feed, option or call that cannot mean anything
  invalid_graph,     ///< refused when built: unknown operator, arity, type, shape, cycle, name
  invalid_model,     ///< a model file that is malformed, hostile or inconsistent
  unsupported,       ///< well-formed, but needs something Sluice does not have
  kernel_failed,     ///< a node's kernel or function failed for this frame
  cancelled,         ///< the caller cancelled the frame
  deadline_exceeded, ///< the frame's deadline passed
  out_of_memory,     ///< a device's budget cannot hold what was asked for
  queue_full,        ///< the session's queue has no room: ask again later
  node_down,         ///< a node actor was killed while the frame needed it
  engine_closed,     ///< the engine or session is closed
  blocking_call,     ///< run() on a worker thread: use run_async
  io_failed,         ///< a file or stream could not be read or written
  device_lost,       ///< a device failed for good: its values are gone, another may do the work
};

/// The name of `code` as it stands in the enum.
[[nodiscard]] SLUICE_API std::string_view to_string(errc code) noexcept;

/// An error with a code and one sentence that names what it is about (file, node, operator, shape).
class SLUICE_API error : public std::runtime_error {
public:
  error(errc code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ~error() override;

  [[nodiscard]] errc code() const noexcept { return code_; }

private:
  errc code_;
};

} // namespace sluice
