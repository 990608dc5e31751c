#include <sluice/devices/device_value.hpp>

#include <sluice/graph/value_type.hpp>

namespace sluice {

device_block::device_block(intrusive_ptr<memory> from, std::size_t bytes)
  : from_(std::move(from)), bytes_(bytes), address_(from_->allocate(bytes)) {}

device_block::~device_block() {
  from_->deallocate(address_, bytes_);
}

device_tensor make_on_device(const device& home, memory& from, element_type type, const shape& s) {
  const auto bytes = value_type{type, s}.bytes().value_or(0);
  return make_on_device(home, intrusive_ptr<device_block>{new device_block{&from, bytes}}, 0, type, s);
}

device_tensor make_on_device(const device& home, intrusive_ptr<device_block> block, std::size_t offset,
                             element_type type, const shape& s) {
  auto* const address = static_cast<std::byte*>(block->address()) + offset;
  intrusive_ptr<device_residence> where{new device_residence{home, std::move(block)}};
  return {tensor::placed(type, s, address, where), std::move(where)};
}

} // namespace sluice
