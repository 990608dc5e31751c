#include <sluice/devices/operator_library.hpp>

namespace sluice {

operator_library::operator_library() : schemas_(std::make_shared<op_registry>()) {}

void operator_library::add(op_schema schema, kernel_entry cpu) {
  const auto domain = schema.domain;
  const auto name = schema.name;
  const auto since = schema.since_opset;
  schemas_->add(std::move(schema));
  add_kernel("cpu", *schemas_->find(domain, name, since), std::move(cpu));
}

void operator_library::add_kernel(std::string_view device_kind, const op_schema& schema,
                                  kernel_entry kernel) {
  if (schemas_->find(schema.domain, schema.name, schema.since_opset) != &schema)
    throw error{errc::invalid_argument,
                "a kernel for operator " + schema.name + ", which this library does not have"};
  kernels_.insert_or_assign({&schema, std::string{device_kind}}, std::move(kernel));
}

const kernel_entry* operator_library::kernel(std::string_view device_kind, const op_schema& schema) const {
  const auto entry = kernels_.find({&schema, std::string{device_kind}});
  return entry == kernels_.end() ? nullptr : &entry->second;
}

} // namespace sluice
