#pragma once

#include <sluice/graph/tensor.hpp>

#include <random>

namespace sluice::test {

/// A tensor of small whole numbers, so that sums of products are exact in every type and order.
template <class T>
intrusive_ptr<tensor> whole_numbers(const shape& s, unsigned seed, int low = -4, int high = 4) {
  std::mt19937 random{seed};
  std::uniform_int_distribution<int> number{low, high};
  auto t = tensor::make(element_type_of<T>, s);
  for (auto& element : t->template data<T>())
    element = static_cast<T>(static_cast<float>(number(random)));
  return t;
}

/// A tensor of numbers in [-1, 1).
inline intrusive_ptr<tensor> uniform_numbers(const shape& s, unsigned seed) {
  std::mt19937 random{seed};
  std::uniform_real_distribution<float> number{-1, 1};
  auto t = tensor::make(element_type::float32, s);
  for (auto& element : t->data<float>())
    element = number(random);
  return t;
}

} // namespace sluice::test
