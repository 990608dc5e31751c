#pragma once

#include <sluice/graph/shape.hpp>
#include <sluice/graph/value.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

/// A case of tests/data/parity, whose README.md describes format, generator and tolerances.
struct golden {
  struct weight {
    std::string name;
    shape dims;
    float base = 0;
    float scale = 0;
  };
  struct sample {
    std::size_t position = 0; ///< row-major
    float expected = 0;
  };
  struct output {
    std::string name;
    shape dims;
    std::string kind; ///< probability, value or intermediate
    double largest = 0;
    double sum = 0;
    double magnitudes = 0; ///< their sum
    std::vector<sample> samples{};
  };
  struct input {
    std::string name;
    value content;
  };

  std::string name; ///< of the case
  std::filesystem::path model;
  std::string sha256;
  std::vector<weight> weights;
  std::vector<input> inputs;
  std::vector<output> outputs;
};

/// Names of all cases, in alphabetical order.
[[nodiscard]] std::vector<std::string> golden_names();

/// Reads a case and makes its inputs. Throws errc::invalid_argument, naming it, if its file is malformed.
[[nodiscard]] golden load_golden(const std::string& name);

/// Only which model the case is of.
[[nodiscard]] std::filesystem::path model_of_golden(const std::string& name);

/// The seed of a tensor, from "CASE:NAME" (FNV-1a), and the 64 random bits of its element `i` (splitmix64).
[[nodiscard]] std::uint64_t seed_of(std::string_view text) noexcept;
[[nodiscard]] std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) noexcept;

/// Element `i` of a tensor of random floats, even in base ± scale.
[[nodiscard]] float random_float(std::uint64_t seed, std::uint64_t i, float base, float scale) noexcept;

} // namespace sluice::test
