#include <sluice/stream/utf8.hpp>

#include <cstddef>

namespace sluice {

namespace {

constexpr char32_t last_code_point = 0x10ffff;

bool surrogate(char32_t c) {
  return c >= 0xd800 && c <= 0xdfff;
}

} // namespace

void append_utf8(std::string& text, char32_t c) {
  if (c > last_code_point || surrogate(c))
    c = 0xfffd;
  const auto tail = [&](int shift) { text.push_back(static_cast<char>(0x80 | ((c >> shift) & 0x3f))); };
  if (c < 0x80) {
    text.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    text.push_back(static_cast<char>(0xc0 | (c >> 6)));
    tail(0);
  } else if (c < 0x10000) {
    text.push_back(static_cast<char>(0xe0 | (c >> 12)));
    tail(6);
    tail(0);
  } else {
    text.push_back(static_cast<char>(0xf0 | (c >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::optional<std::u32string> decode_utf8(std::string_view text) {
  std::u32string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80       ? 1
                               : lead >> 5 == 6  ? 2
                               : lead >> 4 == 14 ? 3
                               : lead >> 3 == 30 ? 4
                                                 : 0;
    if (length == 0 || length > text.size() - i)
      return {};
    auto c = length == 1 ? char32_t{lead} : char32_t{lead} & (0x7fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if (next >> 6 != 2)
        return {};
      c = (c << 6) | (next & 0x3fu);
    }
    constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; // shorter forms must not be written longer
    if (c < least[length] || c > last_code_point || surrogate(c))
      return {};
    result.push_back(c);
    i += length;
  }
  return result;
}

} // namespace sluice
