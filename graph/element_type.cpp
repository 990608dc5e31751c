#include <sluice/graph/element_type.hpp>

#include <array>

namespace sluice {

std::string_view to_string(element_type t) noexcept {
  static constexpr std::array<std::string_view, element_type_count> names = {
      "undefined", "float32", "uint8",   "int8",   "uint16", "int16",     "int32",      "int64",    "string",
      "bool",      "float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16",
  };
  const auto i = static_cast<std::size_t>(t);
  return i < names.size() ? names[i] : "unknown";
}

std::size_t size_of(element_type t) noexcept {
  if (t == element_type::undefined)
    return 0;
  return visit_element_type(t, []<class T>(std::type_identity<T>) { return sizeof(T); });
}

} // namespace sluice
