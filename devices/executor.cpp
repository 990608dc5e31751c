#include <sluice/devices/executor.hpp>

namespace sluice {

namespace {
thread_local worker* current_worker = nullptr;
}

worker* worker::current() noexcept {
  return current_worker;
}

void worker::set_current(worker* w) noexcept {
  current_worker = w;
}

} // namespace sluice
