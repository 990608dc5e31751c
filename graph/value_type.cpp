#include <sluice/graph/value_type.hpp>

#include <sluice/graph/collections.hpp>
#include <sluice/graph/tensor.hpp>

#include <boost/core/demangle.hpp>

namespace sluice {

value_type value_type::sequence_of(value_type item) {
  value_type t;
  t.kind_ = value_kind::sequence;
  t.inner_ = std::make_shared<const value_type>(std::move(item));
  return t;
}

value_type value_type::optional_of(value_type content) {
  value_type t;
  t.kind_ = value_kind::optional;
  t.inner_ = std::make_shared<const value_type>(std::move(content));
  return t;
}

value_type value_type::map_of(element_type key, value_type entry) {
  value_type t;
  t.kind_ = value_kind::map;
  t.element_ = key;
  t.inner_ = std::make_shared<const value_type>(std::move(entry));
  return t;
}

value_type value_type::object_of(std::type_index type) {
  value_type t;
  t.kind_ = value_kind::object;
  t.object_ = type;
  return t;
}

value_type value_type::of(const value& v) {
  if (v.empty())
    return {};
  switch (v.kind()) {
  case value_kind::tensor:
    return {v.tensor().type(), v.tensor().shape()};
  case value_kind::sequence:
    return sequence_of(v.sequence().items.empty() ? value_type{} : of(v.sequence().items.front()));
  case value_kind::optional:
    return optional_of(of(v.optional().content));
  case value_kind::map: {
    const auto& entries = v.map().entries;
    const auto text = !entries.empty() && entries.begin()->first.index() == 1;
    return map_of(text ? element_type::string : element_type::int64,
                  entries.empty() ? value_type{} : of(entries.begin()->second));
  }
  case value_kind::object:
    return object_of(static_cast<const object_body&>(*v.body()).type());
  }
  return {};
}

std::optional<std::size_t> value_type::bytes() const {
  if (!concrete())
    return std::nullopt;
  return static_cast<std::size_t>(shape_.to_shape()->elements()) * size_of(element_);
}

bool value_type::admits(const value& v) const {
  if (!kind_)
    return true;
  if (v.empty() || v.kind() != *kind_)
    return false;
  switch (*kind_) {
  case value_kind::tensor:
    return (element_ == element_type::undefined || element_ == v.tensor().type()) &&
           shape_.admits(v.tensor().shape());
  case value_kind::sequence: {
    const auto& items = v.sequence().items;
    return std::all_of(items.begin(), items.end(),
                       [this](const value& item) { return inner_->admits(item); });
  }
  case value_kind::optional:
    return v.optional().content.empty() || inner_->admits(v.optional().content);
  case value_kind::map: {
    const auto& entries = v.map().entries;
    return std::all_of(entries.begin(), entries.end(), [this](const auto& entry) {
      return (entry.first.index() == 1) == (element_ == element_type::string) && inner_->admits(entry.second);
    });
  }
  case value_kind::object:
    return static_cast<const object_body&>(*v.body()).type() == *object_;
  }
  return false;
}

std::optional<value_type> value_type::merged(const value_type& other) const {
  if (!kind_)
    return other;
  if (!other.kind_)
    return *this;
  if (kind_ != other.kind_ || object_ != other.object_)
    return std::nullopt;
  auto result = *this;
  if (element_ == element_type::undefined)
    result.element_ = other.element_;
  else if (other.element_ != element_type::undefined && element_ != other.element_)
    return std::nullopt;
  if (is_tensor()) {
    auto shape = shape_.merged(other.shape_);
    if (!shape)
      return std::nullopt;
    result.shape_ = std::move(*shape);
  }
  if (inner_) {
    auto inner = inner_->merged(*other.inner_);
    if (!inner)
      return std::nullopt;
    result.inner_ = std::make_shared<const value_type>(std::move(*inner));
  }
  return result;
}

std::string to_string(const value_type& t) {
  if (!t.known())
    return "unknown";
  switch (*t.kind()) {
  case value_kind::tensor:
    return std::string{to_string(t.element())} + to_string(t.shape());
  case value_kind::sequence:
    return "sequence of " + to_string(t.inner());
  case value_kind::optional:
    return "optional " + to_string(t.inner());
  case value_kind::map:
    return "map from " + std::string{to_string(t.key())} + " to " + to_string(t.inner());
  case value_kind::object:
    return "object " + boost::core::demangle(t.object()->name());
  }
  return "unknown";
}

} // namespace sluice
