#include <sluice/scheduler/kernel_profile.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/scheduler/plan.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace sluice {

namespace {

/// FNV-1a of 64 bits: short, and the same everywhere.
class hasher {
public:
  void add(std::span<const std::byte> bytes) noexcept {
    for (const auto b : bytes)
      hash_ = (hash_ ^ static_cast<std::uint64_t>(b)) * 0x100000001b3;
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T x) noexcept { add(std::as_bytes(std::span{&x, 1})); }
  void add(const std::string& text) noexcept {
    add(text.size());
    add(std::as_bytes(std::span{text}));
  }
  template <class T>
  void add(const std::vector<T>& many) noexcept {
    add(many.size());
    for (const auto& one : many)
      add(one);
  }
  void add(const value& v) {
    if (!v.is(value_kind::tensor))
      return;
    const auto& t = v.tensor();
    add(to_string(value_type::of(v)));
    if (t.type() != element_type::string)
      add(std::span{static_cast<const std::byte*>(t.raw()), std::min(t.bytes(), most_bytes)});
  }
  void add(const value_type& t) { add(to_string(t)); }
  void add(const std::shared_ptr<const graph>&) noexcept {} // control flow has no kernel

  [[nodiscard]] std::string text() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash_));
    return digits;
  }

  /// Of a constant; what says shapes is smaller.
  static constexpr std::size_t most_bytes = 512;

private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

/// A target shape, axes, pads: a kernel does other work where they differ.
bool says_shape(const value& constant) {
  return constant.is(value_kind::tensor) && constant.tensor().bytes() <= hasher::most_bytes &&
         (constant.tensor().type() == element_type::int64 || constant.tensor().type() == element_type::int32);
}

} // namespace

kernel_id id_of(const plan& p, const plan_step& s) {
  const auto& n = p.source->at(s.node);
  kernel_id id;
  id.op = (n.domain.empty() ? "" : n.domain + "::") + n.op + '-' + std::to_string(n.opset);
  hasher attributes;
  for (const auto& [name, a] : n.attributes) {
    attributes.add(name);
    std::visit([&](const auto& x) { attributes.add(x); }, a);
  }
  auto constant = s.constants.begin();
  for (std::uint32_t port = 0; port < n.inputs.size(); ++port) {
    id.inputs += port == 0 ? "" : ", ";
    if (n.inputs[port] == no_edge) {
      id.inputs += '-';
      continue;
    }
    id.inputs += to_string(s.input_types[port]);
    if (constant == s.constants.end() || constant->port != port)
      continue;
    id.inputs += " constant";
    if (says_shape(constant->constant))
      attributes.add(constant->constant);
    ++constant;
  }
  for (const auto& t : s.output_types)
    id.outputs += (id.outputs.empty() ? "" : ", ") + to_string(t);
  id.attributes = attributes.text();
  return id;
}

} // namespace sluice
