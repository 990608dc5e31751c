#pragma once

#include <sluice/graph/tensor.hpp>

#include <vector>

namespace sluice::test {

/// A copy of a tensor's elements, to be compared.
template <class T>
std::vector<T> elements(const value& v) {
  const auto data = v.tensor().data<T>();
  return {data.begin(), data.end()};
}

inline std::vector<float> floats(const value& v) {
  return elements<float>(v);
}

/// The numbers 0, 1, 2, … in a shape.
inline value counting(const shape& s) {
  auto t = tensor::make(element_type::float32, s);
  float next = 0;
  for (auto& x : t->data<float>())
    x = next++;
  return t;
}

} // namespace sluice::test
