#include <sluice/graph/error.hpp>

namespace sluice {

error::~error() = default;

std::string_view to_string(errc code) noexcept {
  switch (code) {
  case errc::invalid_argument:
    return "invalid_argument";
  case errc::invalid_graph:
    return "invalid_graph";
  case errc::invalid_model:
    return "invalid_model";
  case errc::unsupported:
    return "unsupported";
  case errc::kernel_failed:
    return "kernel_failed";
  case errc::cancelled:
    return "cancelled";
  case errc::deadline_exceeded:
    return "deadline_exceeded";
  case errc::out_of_memory:
    return "out_of_memory";
  case errc::queue_full:
    return "queue_full";
  case errc::node_down:
    return "node_down";
  case errc::engine_closed:
    return "engine_closed";
  case errc::blocking_call:
    return "blocking_call";
  case errc::io_failed:
    return "io_failed";
  case errc::device_lost:
    return "device_lost";
  }
  return "unknown";
}

} // namespace sluice
