#include <sluice/ops/elementwise.hpp>

namespace sluice::ops {

void refuse_element(element_type t) {
  throw error{errc::unsupported, "elements of type " + std::string{to_string(t)} + " are not supported"};
}

bool is_floating(element_type t) noexcept {
  return t == element_type::float32 || t == element_type::float64 || t == element_type::float16 ||
         t == element_type::bfloat16;
}

element_type stated_element(const attribute_map& attributes, std::string_view name, element_type otherwise) {
  const auto number = attributes.get<std::int64_t>(name, 0);
  if (number == 0)
    return otherwise;
  if (number < 0 || number >= element_type_count)
    throw error{errc::unsupported, "element type number " + std::to_string(number) + " is not supported"};
  return static_cast<element_type>(number);
}

} // namespace sluice::ops
