#include <sluice/ops/elementwise.hpp>

namespace sluice::ops {

void refuse_element(element_type t) {
  throw error{errc::unsupported, "elements of type " + std::string{to_string(t)} + " are not supported"};
}

} // namespace sluice::ops
