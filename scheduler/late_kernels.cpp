#include <sluice/scheduler/late_kernels.hpp>

#include <algorithm>

namespace sluice {

namespace {

/// The types of what arrived, and where they are given at all.
struct arrived_types {
  explicit arrived_types(std::span<const value> inputs) {
    for (const auto& v : inputs)
      types.push_back(value_type::of(v));
    for (std::size_t i = 0; i < inputs.size(); ++i)
      present.push_back(inputs[i].empty() ? nullptr : &types[i]);
  }
  std::vector<value_type> types;
  std::vector<const value_type*> present;
};

/// Whether the types and the constants alone tell `outputs`, which were inferred from the elements too.
bool follow_from_types(const graph::node& n, std::span<const value_type* const> types,
                       std::span<const value> constants, std::span<const value_type> outputs) {
  try {
    const auto again = infer_outputs(n, types, constants);
    return std::equal(again.begin(), again.end(), outputs.begin(), outputs.end(),
                      [](const value_type& a, const value_type& b) {
                        return a.concrete() && b.concrete() && a.element() == b.element() &&
                               a.shape() == b.shape();
                      });
  } catch (const error&) {
    return false;
  }
}

} // namespace

bool late_kernels::entry::suits(std::span<const value> given,
                                std::span<const plan_step::bound_constant> known, unsigned w) const noexcept {
  const auto same_type = [](const value& v, const input& i) {
    if (v.empty() || i.type == element_type::undefined)
      return v.empty() && i.type == element_type::undefined;
    const auto& t = static_cast<const tensor&>(*v.body());
    return t.type() == i.type && t.shape() == i.shape;
  };
  const auto same_constant = [](const plan_step::bound_constant& a, const plan_step::bound_constant& b) {
    return a.port == b.port && a.constant.body() == b.constant.body();
  };
  return w == width && std::equal(given.begin(), given.end(), inputs.begin(), inputs.end(), same_type) &&
         std::equal(known.begin(), known.end(), constants.begin(), constants.end(), same_constant);
}

const late_kernels::entry* late_kernels::find(std::span<const value> inputs,
                                              std::span<const plan_step::bound_constant> constants,
                                              unsigned width) {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const entry& e) { return e.suits(inputs, constants, width); });
  if (at == entries_.end())
    return nullptr;
  std::rotate(entries_.begin(), at, at + 1);
  return &entries_.front();
}

void late_kernels::remember(entry e) {
  const std::lock_guard lock{mutex_};
  entries_.insert(entries_.begin(), std::move(e));
  if (entries_.size() > capacity)
    entries_.pop_back();
}

std::size_t late_kernels::size() const {
  const std::lock_guard lock{mutex_};
  return entries_.size();
}

std::shared_ptr<const late_kernel> late_kernels::get(const graph::node& n, std::span<const value> inputs,
                                                     std::span<const plan_step::bound_constant> constants,
                                                     kernel_cache& kernels, unsigned width) {
  // Only tensors are told apart by what a key holds.
  const auto comparable = std::all_of(inputs.begin(), inputs.end(),
                                      [](const value& v) { return v.empty() || v.is(value_kind::tensor); });
  std::shared_ptr<const late_kernel> known;
  if (comparable) {
    const std::lock_guard lock{mutex_};
    if (const auto* e = find(inputs, constants, width)) {
      if (!e->by_value)
        return e->made;
      known = e->made;
    }
  }
  const arrived_types arrived{inputs};
  auto made = std::make_shared<late_kernel>();
  made->outputs = infer_outputs(n, arrived.present, inputs);
  if (known) {
    made->kernel = known->kernel; // it depends on types and constants alone
    return made;
  }
  std::vector<value> fixed(inputs.size());
  for (const auto& c : constants)
    fixed[c.port] = c.constant;
  made->kernel = kernels.get(n, arrived.present, fixed, made->outputs, width);
  if (!made->kernel)
    throw error{errc::unsupported, "its kernel cannot be prepared for these inputs"};
  if (comparable) {
    std::vector<input> key;
    for (const auto& v : inputs)
      key.push_back(v.empty() ? input{element_type::undefined, {}}
                              : input{v.tensor().type(), v.tensor().shape()});
    remember({std::move(key),
              {constants.begin(), constants.end()},
              width,
              !follow_from_types(n, arrived.present, fixed, made->outputs),
              made});
  }
  return made;
}

} // namespace sluice
