#include <sluice/scheduler/plan.hpp>

namespace sluice {

namespace {

/// What tells one preparation from another, as bytes.
std::string key_of(const graph::node& n, std::span<const value_type* const> inputs,
                   std::span<const value> constants, bool by_shape, unsigned width) {
  std::string key;
  const auto append = [&key](const auto& x) { key.append(reinterpret_cast<const char*>(&x), sizeof x); };
  append(&n);
  append(width);
  for (const auto* t : inputs) {
    append(t ? t->element() : element_type::undefined);
    if (!t || !by_shape || !t->is_tensor() || !t->shape().has_rank())
      continue;
    append(t->shape().rank());
    for (const auto& d : t->shape().dims())
      append(d.extent());
  }
  for (const auto& c : constants)
    append(c.body());
  return key;
}

} // namespace

std::shared_ptr<const prepared_kernel>
kernel_cache::get(const graph::node& n, std::span<const value_type* const> inputs,
                  std::span<const value> constants, std::span<const value_type> outputs, unsigned width) try {
  const auto* entry = operators_->kernel("cpu", *n.schema);
  if (!entry)
    throw error{errc::unsupported, "there is no kernel for the CPU"};
  if (!entry->any_shape)
    for (const auto* t : inputs)
      if (t && !t->concrete())
        return nullptr;
  const auto key = key_of(n, inputs, constants, !entry->any_shape, width);
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = kernels_.find(key); found != kernels_.end())
      return found->second;
  }
  // Prepared without the lock: it may take long. Two that prepare the same keep one.
  const op_view op{n.attributes, n.opset, inputs, constants, n.outputs.size(), n.captures};
  std::shared_ptr<const prepared_kernel> made =
      entry->prepare({.node = n.name, .op = op, .outputs = outputs, .width = width});
  const std::lock_guard lock{mutex_};
  return kernels_.try_emplace(key, std::move(made)).first->second;
} catch (const error& e) {
  throw error{e.code(), "node " + title(n) + ": " + e.what()};
}

std::size_t kernel_cache::packed_bytes() const {
  const std::lock_guard lock{mutex_};
  std::size_t bytes = 0;
  for (const auto& [key, kernel] : kernels_)
    bytes += kernel->packed_bytes();
  return bytes;
}

} // namespace sluice
