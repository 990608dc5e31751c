#pragma once

#include <sluice/graph/error.hpp>
#include <sluice/graph/value.hpp>
#include <sluice/graph/value_type.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice {

class graph;

/// What an operator's attribute can be; `value` holds a tensor, `value_type` ONNX's type attributes.
using attribute =
    std::variant<std::int64_t, float, std::string, value, std::shared_ptr<const graph>,
                 std::vector<std::int64_t>, std::vector<float>, std::vector<std::string>, value_type>;

/// The attributes of one node, by name.
class SLUICE_API attribute_map {
public:
  attribute_map() = default;
  attribute_map(std::initializer_list<std::pair<const std::string, attribute>> entries) : entries_(entries) {}

  void set(std::string name, attribute a) { entries_.insert_or_assign(std::move(name), std::move(a)); }
  [[nodiscard]] bool has(std::string_view name) const { return entries_.find(name) != entries_.end(); }

  /// The attribute if it is there, null otherwise. Throws errc::invalid_graph if it has another type.
  template <class T>
  [[nodiscard]] const T* find(std::string_view name) const {
    const auto entry = entries_.find(name);
    if (entry == entries_.end())
      return nullptr;
    if (const auto* a = std::get_if<T>(&entry->second))
      return a;
    wrong_type(name);
  }

  /// The attribute, or `otherwise` if it is not there.
  template <class T>
  [[nodiscard]] T get(std::string_view name, T otherwise) const {
    const auto* a = find<T>(name);
    return a ? *a : otherwise;
  }

  /// The attribute. Throws errc::invalid_graph if it is not there.
  template <class T>
  [[nodiscard]] const T& get(std::string_view name) const {
    if (const auto* a = find<T>(name))
      return *a;
    missing(name);
  }

  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

private:
  [[noreturn]] static void wrong_type(std::string_view name);
  [[noreturn]] static void missing(std::string_view name);

  std::map<std::string, attribute, std::less<>> entries_;
};

} // namespace sluice
