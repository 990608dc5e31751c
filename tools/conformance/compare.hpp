#pragma once

#include <sluice/graph/value.hpp>

#include <optional>
#include <string>

namespace sluice::tools {

/// How far two floating-point numbers may be apart: |actual - expected| <= absolute + relative * |expected|.
/// The defaults are those of ONNX's own tests.
struct tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

/// What tells `actual` from `expected`, as a sentence; nullopt if nothing does.
///
/// Kinds, element types, shapes, lengths and keys must be equal; floating-point and complex numbers within
/// the tolerance, where NaN equals NaN and an infinity itself; everything else exactly. Sequences, optionals
/// and maps are compared item by item. C++ objects always differ.
[[nodiscard]] std::optional<std::string> difference(const value& actual, const value& expected,
                                                    const tolerance& allowed = {});

/// The same for kinds, element types and shapes alone: for results that are random.
[[nodiscard]] std::optional<std::string> type_difference(const value& actual, const value& expected);

} // namespace sluice::tools
