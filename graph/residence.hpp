#pragma once

#include <sluice/graph/export.hpp>
#include <sluice/graph/memory.hpp>

#include <string_view>

namespace sluice {

/// Where the elements of a tensor lie, if not in the host's memory, and when they are there. Keeps these
/// bytes.
///
/// @threadsafe to read.
class SLUICE_API residence : public ref_counted<residence> {
public:
  virtual ~residence() = default;

  /// The name of the device in whose memory they are: "sim:0".
  [[nodiscard]] virtual std::string_view device() const noexcept = 0;

private:
  friend class ref_counted<residence>;
  void destroy() const noexcept { delete this; }
};

} // namespace sluice
