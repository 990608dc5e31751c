#pragma once

#include <sluice/graph/element_type.hpp>
#include <sluice/graph/shape.hpp>
#include <sluice/graph/value.hpp>

#include <memory>
#include <optional>
#include <string>
#include <typeindex>

namespace sluice {

/// What is known of the values on an edge before data flow. A value type.
class SLUICE_API value_type {
public:
  value_type() = default; ///< nothing is known
  value_type(element_type element, partial_shape shape)
    : kind_(value_kind::tensor), element_(element), shape_(std::move(shape)) {}

  [[nodiscard]] static value_type sequence_of(value_type item);
  [[nodiscard]] static value_type optional_of(value_type content);
  [[nodiscard]] static value_type map_of(element_type key, value_type entry);
  [[nodiscard]] static value_type object_of(std::type_index type);
  template <class T>
  [[nodiscard]] static value_type object_of() {
    return object_of(typeid(T));
  }
  /// The exact type of `v`; a sequence has the type of its first item.
  [[nodiscard]] static value_type of(const value& v);

  [[nodiscard]] bool known() const noexcept { return kind_.has_value(); }
  [[nodiscard]] bool is(value_kind k) const noexcept { return kind_ == k; }
  [[nodiscard]] bool is_tensor() const noexcept { return is(value_kind::tensor); }
  [[nodiscard]] std::optional<value_kind> kind() const noexcept { return kind_; }

  [[nodiscard]] element_type element() const noexcept {
    return element_;
  } ///< of a tensor; undefined if unknown
  [[nodiscard]] const partial_shape& shape() const noexcept { return shape_; } ///< of a tensor
  [[nodiscard]] element_type key() const noexcept { return element_; }         ///< of a map
  [[nodiscard]] const value_type& inner() const noexcept { return *inner_; }   ///< item, content or entry
  [[nodiscard]] std::optional<std::type_index> object() const noexcept { return object_; }

  /// A tensor whose element type and every extent are known.
  [[nodiscard]] bool concrete() const noexcept {
    return is_tensor() && element_ != element_type::undefined && shape_.known();
  }
  /// Bytes of a tensor of this type; nullopt unless concrete() (strings count their objects).
  [[nodiscard]] std::optional<std::size_t> bytes() const;

  /// True unless `v` contradicts what is known.
  [[nodiscard]] bool admits(const value& v) const;
  /// What both say together; nullopt if they contradict each other.
  [[nodiscard]] std::optional<value_type> merged(const value_type& other) const;

private:
  std::optional<value_kind> kind_;
  element_type element_ = element_type::undefined;
  partial_shape shape_;
  std::shared_ptr<const value_type> inner_;
  std::optional<std::type_index> object_;
};

/// "float32[N, 3]", "sequence of int64[?]", "unknown"
[[nodiscard]] SLUICE_API std::string to_string(const value_type& t);

} // namespace sluice
