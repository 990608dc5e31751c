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

} // namespace sluice::test
