#pragma once

#include <sluice/devices/device.hpp>
#include <sluice/graph/tensor.hpp>

#include <cstddef>
#include <string>

namespace sluice {

/// Bytes in a device's memory, shared by the values that stand in them.
class SLUICE_API device_block final : public ref_counted<device_block> {
public:
  /// Throws what `from` throws.
  device_block(intrusive_ptr<memory> from, std::size_t bytes);
  ~device_block();

  [[nodiscard]] void* address() const noexcept { return address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
  friend class ref_counted<device_block>;
  void destroy() const noexcept { delete this; }

  const intrusive_ptr<memory> from_;
  const std::size_t bytes_;
  void* const address_;
};

/// Where a value on an accelerator lies, and the event that says when it is there.
class SLUICE_API device_residence final : public residence {
public:
  device_residence(const sluice::device& home, intrusive_ptr<device_block> block)
    : name_(home.name()), block_(std::move(block)) {}

  [[nodiscard]] std::string_view device() const noexcept override { return name_; }
  [[nodiscard]] const intrusive_ptr<device_block>& block() const noexcept { return block_; }

  /// Done when the elements are there. Null until the work that makes them is enqueued.
  [[nodiscard]] const event_ptr& ready() const noexcept { return ready_; }
  /// By who enqueues that work, before anybody else sees the value.
  void set_ready(event_ptr e) noexcept { ready_ = std::move(e); }

private:
  const std::string name_;
  const intrusive_ptr<device_block> block_;
  event_ptr ready_;
};

/// A tensor to be made on a device.
struct device_tensor {
  intrusive_ptr<tensor> content;
  intrusive_ptr<device_residence> where;
};

/// An uninitialised tensor in bytes of `from`, the memory of `home`. Throws errc::out_of_memory, device_lost.
[[nodiscard]] SLUICE_API device_tensor make_on_device(const device& home, memory& from, element_type type,
                                                      const shape& s);
/// A tensor in bytes that are there, from `offset` on.
[[nodiscard]] SLUICE_API device_tensor make_on_device(const device& home, intrusive_ptr<device_block> block,
                                                      std::size_t offset, element_type type, const shape& s);

/// Where `v` lies; null if it is a value of the host.
[[nodiscard]] inline const device_residence* residence_of(const value& v) noexcept {
  if (!v.is(value_kind::tensor))
    return nullptr;
  return static_cast<const device_residence*>(static_cast<const tensor*>(v.body())->where());
}

} // namespace sluice
