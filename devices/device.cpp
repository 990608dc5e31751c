#include <sluice/devices/device.hpp>

namespace sluice {

device::~device() = default;

} // namespace sluice
