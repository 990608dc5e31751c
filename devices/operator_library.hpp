#pragma once

#include <sluice/devices/kernel.hpp>
#include <sluice/graph/op_schema.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice {

/// Makes a kernel ready for a request. Throws `sluice::error` if the combination of types, attributes or
/// shapes is not supported; the caller adds the node's name.
using prepare_function = std::function<std::unique_ptr<prepared_kernel>(const kernel_request&)>;

/// A kernel of an operator on a kind of device.
struct kernel_entry {
  prepare_function prepare;
  /// True if it can be prepared before shapes are known, and then serves every shape; otherwise it is
  /// prepared for each combination of input shapes, which are then concrete.
  bool any_shape = true;
};

/// The operators that Sluice knows, with their kernels by kind of device ("cpu", "cuda").
///
/// Filled once by explicit calls, then only read. @threadsafe to read.
class SLUICE_API operator_library {
public:
  operator_library();

  /// Adds an operator with its kernel for the CPU.
  void add(op_schema schema, kernel_entry cpu);
  /// Adds a kernel for another kind of device to an operator that is there. Throws errc::invalid_argument if
  /// not.
  void add_kernel(std::string_view device_kind, const op_schema& schema, kernel_entry kernel);

  [[nodiscard]] const std::shared_ptr<op_registry>& schemas() const noexcept { return schemas_; }
  /// The kernel of `schema` for a kind of device; null if there is none.
  [[nodiscard]] const kernel_entry* kernel(std::string_view device_kind, const op_schema& schema) const;

private:
  std::shared_ptr<op_registry> schemas_;
  std::map<std::pair<const op_schema*, std::string>, kernel_entry> kernels_;
};

} // namespace sluice
