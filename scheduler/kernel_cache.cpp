#include <sluice/scheduler/plan.hpp>

#include <algorithm>

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

bool has_element_type(const value_type& t) {
  return t.is_tensor() ? t.element() != element_type::undefined : t.known();
}

} // namespace

std::shared_ptr<const prepared_kernel>
kernel_cache::get(const graph::node& n, std::span<const value_type* const> inputs,
                  std::span<const value> constants, std::span<const value_type> outputs, unsigned width) try {
  const auto* entry = operators_->kernel("cpu", *n.schema);
  if (!entry)
    throw error{errc::unsupported, "there is no kernel for the CPU"};
  for (const auto* t : inputs)
    if (t && !(entry->any_shape ? has_element_type(*t) : t->concrete()))
      return nullptr;
  const auto key = key_of(n, inputs, constants, !entry->any_shape, width);
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = kernels_.find(key); found != kernels_.end())
      if (auto kernel = found->second.lock())
        return kernel;
  }
  // Prepared without the lock: it may take long. Two that prepare the same keep one.
  const op_view op{n.attributes, n.opset, inputs, constants, n.outputs.size(), n.captures};
  std::shared_ptr<const prepared_kernel> made =
      entry->prepare({.node = n.name, .op = op, .outputs = outputs, .width = width});
  const std::lock_guard lock{mutex_};
  auto& kept = kernels_[key];
  if (auto others = kept.lock())
    return others;
  kept = made;
  if (kernels_.size() >= forget_at_)
    forget_unused();
  return made;
} catch (const error& e) {
  throw error{e.code(), "node " + title(n) + ": " + e.what()};
}

/// Called with the lock held. Twice as many may be added as are in use before it is called again, so that it
/// costs little for each.
void kernel_cache::forget_unused() {
  std::erase_if(kernels_, [](const auto& entry) { return entry.second.expired(); });
  forget_at_ = std::max<std::size_t>(64, 3 * kernels_.size());
}

std::shared_ptr<const std::vector<value>>
kernel_cache::constants_of(const std::shared_ptr<const graph>& body) {
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = bodies_.find(body.get()); found != bodies_.end())
      return found->second.constants;
  }
  auto made = std::make_shared<const std::vector<value>>(fold_constants(*body, *operators_, memory::heap()));
  const std::lock_guard lock{mutex_};
  return bodies_.try_emplace(body.get(), folded_body{body, std::move(made)}).first->second.constants;
}

std::size_t kernel_cache::packed_bytes() const {
  const std::lock_guard lock{mutex_};
  std::size_t bytes = 0;
  for (const auto& [key, kept] : kernels_)
    if (const auto kernel = kept.lock())
      bytes += kernel->packed_bytes();
  return bytes;
}

std::size_t kernel_cache::size() const {
  const std::lock_guard lock{mutex_};
  return static_cast<std::size_t>(
      std::count_if(kernels_.begin(), kernels_.end(), [](const auto& e) { return !e.second.expired(); }));
}

} // namespace sluice
