#include <sluice/graph/value.hpp>

#include <sluice/graph/collections.hpp>
#include <sluice/graph/tensor.hpp>

#include <array>

#include <boost/core/demangle.hpp>

namespace sluice {

std::string_view to_string(value_kind k) noexcept {
  static constexpr std::array<std::string_view, 5> names = {"tensor", "sequence", "map", "optional",
                                                            "object"};
  return names[static_cast<std::size_t>(k)];
}

std::string describe(const value& v) {
  if (v.empty())
    return "empty";
  switch (v.kind()) {
  case value_kind::tensor:
    return std::string{to_string(v.tensor().type())} + to_string(v.tensor().shape());
  case value_kind::sequence:
    return "sequence of " + std::to_string(v.sequence().items.size());
  case value_kind::map:
    return "map of " + std::to_string(v.map().entries.size());
  case value_kind::optional:
    return "optional " + describe(v.optional().content);
  case value_kind::object:
    return "object " + boost::core::demangle(static_cast<const object_body&>(*v.body()).type().name());
  }
  return "value";
}

void value::expect(value_kind k) const {
  if (!is(k))
    throw error{errc::invalid_argument,
                describe(*this) + " where a " + std::string{to_string(k)} + " is needed"};
}

void value::expect_object(std::type_index t) const {
  expect(value_kind::object);
  if (static_cast<const object_body&>(*body_).type() != t)
    throw error{errc::invalid_argument,
                describe(*this) + " where an object " + boost::core::demangle(t.name()) + " is needed"};
}

const tensor& value::tensor() const {
  expect(value_kind::tensor);
  return static_cast<const sluice::tensor&>(*body_);
}

const sequence& value::sequence() const {
  expect(value_kind::sequence);
  return static_cast<const sluice::sequence&>(*body_);
}

const dictionary& value::map() const {
  expect(value_kind::map);
  return static_cast<const dictionary&>(*body_);
}

const optional_value& value::optional() const {
  expect(value_kind::optional);
  return static_cast<const optional_value&>(*body_);
}

} // namespace sluice
