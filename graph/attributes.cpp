#include <sluice/graph/attributes.hpp>

namespace sluice {

void attribute_map::wrong_type(std::string_view name) {
  throw error{errc::invalid_graph, "attribute '" + std::string{name} + "' has the wrong type"};
}

void attribute_map::missing(std::string_view name) {
  throw error{errc::invalid_graph, "attribute '" + std::string{name} + "' is missing"};
}

} // namespace sluice
