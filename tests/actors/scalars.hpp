#pragma once

#include <sluice/sluice.hpp>

namespace sluice::test {

[[nodiscard]] inline value number(float x) {
  return tensor::of_scalar(x);
}
[[nodiscard]] inline float number(const value& v) {
  return v.scalar<float>();
}

inline const value_type scalar{element_type::float32, shape{}};

/// y = x + step.
[[nodiscard]] inline graph_function add_of(float step) {
  return {[step](std::span<value> in, std::span<value> out) { out[0] = number(number(in[0]) + step); }};
}

} // namespace sluice::test
