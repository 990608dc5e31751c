#include <tools/feeds/random_value.hpp>

#include <sluice/graph/tensor.hpp>

#include <complex>
#include <string>

namespace sluice::tools {

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): a whole sequence from any seed, and the same everywhere.
class generator {
public:
  explicit generator(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    auto z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  float number() { return static_cast<float>(bits() >> 40) * 0x1p-23f - 1.0f; }
  int digit() { return static_cast<int>(bits() % 10); }

private:
  std::uint64_t state_;
};

template <class T>
T element(generator& g) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::to_string(g.digit());
  } else if constexpr (std::is_same_v<T, bool>) {
    return (g.bits() >> 63) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(g.digit());
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    const auto real = g.number();
    return T{real, g.number()};
  } else {
    return T{g.number()};
  }
}

template <class T>
T from_int(int x) {
  if constexpr (std::is_same_v<T, std::string>)
    return std::to_string(x);
  else if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(x);
  else
    return T{static_cast<float>(x)};
}

} // namespace

value random_value(element_type type, const shape& s, std::uint64_t seed) {
  auto t = tensor::make(type, s);
  generator g{seed};
  visit_element_type(type, [&]<class T>(std::type_identity<T>) {
    for (auto& e : t->template data<T>())
      e = element<T>(g);
  });
  return t;
}

value filled_value(element_type type, const shape& s, int element) {
  auto t = tensor::make(type, s);
  visit_element_type(type, [&]<class T>(std::type_identity<T>) {
    for (auto& e : t->template data<T>())
      e = from_int<T>(element);
  });
  return t;
}

} // namespace sluice::tools
