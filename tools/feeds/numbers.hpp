#pragma once

#include <sluice/graph/element_type.hpp>
#include <sluice/graph/shape.hpp>
#include <sluice/graph/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What people type: numbers, shapes, types. All throw errc::invalid_argument, showing what was typed.
namespace sluice::tools {

[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

/// "1x3x224x224", or "scalar".
[[nodiscard]] shape parse_shape(std::string_view text);

/// "float32" and numpy's and C++'s other words for it: "float", "double", "half", "bool", …
[[nodiscard]] element_type parse_element_type(std::string_view text);

/// `what` is what an error calls it: "a seed".
[[nodiscard]] std::int64_t parse_integer(std::string_view text, std::string_view what);

/// "5" as a scalar, "1,2,3" as a vector: int64 if all are integers, otherwise float64; "true" and "false" are
/// booleans. nullopt if the text is something else.
[[nodiscard]] std::optional<value> parse_numbers(std::string_view text);

/// A file's bytes or a count for people: "1.5 MB", "12.3 M".
[[nodiscard]] std::string readable_bytes(double bytes);
[[nodiscard]] std::string readable_count(double count);

} // namespace sluice::tools
