#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// Appends a code point as UTF-8; what is no code point becomes U+FFFD.
void append_utf8(std::string& text, char32_t c);

/// The code points of UTF-8 text; nullopt if it is not well-formed.
[[nodiscard]] std::optional<std::u32string> decode_utf8(std::string_view text);

} // namespace sluice
