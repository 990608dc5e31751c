#pragma once

#include <sluice/graph/element_type.hpp>
#include <sluice/graph/value.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sluice {

/// An ordered list of values of one type.
class SLUICE_API sequence final : public value_body {
public:
  explicit sequence(std::vector<value> content)
    : value_body(value_kind::sequence), items(std::move(content)) {}
  [[nodiscard]] static value make(std::vector<value> items) {
    return intrusive_ptr<sequence>{new sequence{std::move(items)}};
  }
  const std::vector<value> items;
};

/// ONNX's map: integer or string keys, each with a value.
class SLUICE_API dictionary final : public value_body {
public:
  using key = std::variant<std::int64_t, std::string>;
  explicit dictionary(std::map<key, value> content)
    : value_body(value_kind::map), entries(std::move(content)) {}
  [[nodiscard]] static value make(std::map<key, value> entries) {
    return intrusive_ptr<dictionary>{new dictionary{std::move(entries)}};
  }
  const std::map<key, value> entries;
};

/// A value that may be absent, as ONNX's `optional` type.
class SLUICE_API optional_value final : public value_body {
public:
  explicit optional_value(value inner) : value_body(value_kind::optional), content(std::move(inner)) {}
  [[nodiscard]] static value make(value content) {
    return intrusive_ptr<optional_value>{new optional_value{std::move(content)}};
  }
  const value content; ///< empty if absent
};

} // namespace sluice
