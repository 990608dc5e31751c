#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace sluice {

/// Reads JSON in which no object has a key twice: of two lines about one thing, one would count silently.
/// Objects keep their order. Throws errc::invalid_argument that begins with `origin` and names line and
/// column, or the key.
[[nodiscard]] nlohmann::ordered_json parse_strict_json(std::string_view text, const std::string& origin);

} // namespace sluice
