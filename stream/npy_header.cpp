#include <sluice/stream/npy_header.hpp>

#include <sluice/stream/file_bytes.hpp>

#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

namespace {

using namespace std::string_view_literals;

constexpr auto magic = "\x93NUMPY"sv;
constexpr char native_order = std::endian::native == std::endian::little ? '<' : '>';

/// Reads the Python dictionary that describes the array: three known keys, in any order.
class header_parser {
public:
  header_parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void parse(npy_header& header) {
    std::optional<std::vector<std::int64_t>> dims;
    std::optional<bool> fortran;
    std::optional<std::string_view> descr;
    expect('{');
    while (!accept('}')) {
      const auto key = quoted();
      expect(':');
      if (key == "descr")
        descr = description();
      else if (key == "fortran_order")
        fortran = boolean();
      else if (key == "shape")
        dims = tuple();
      else
        fail("its header has an unknown key '" + std::string{key.substr(0, 40)} + "'");
      if (!accept(',') && peek() != '}')
        fail("its header is malformed");
    }
    if (!descr || !fortran || !dims)
      fail("its header lacks 'descr', 'fortran_order' or 'shape'");
    header.fortran_order = *fortran;
    set_type(header, *descr);
    try {
      header.shape = shape{*dims};
    } catch (const error& e) {
      fail(e.what());
    }
  }

private:
  [[noreturn]] void fail(std::string_view what) const { throw bad_file(name_, what); }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
      ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c)
      return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      fail("its header is malformed");
  }

  std::string_view quoted() {
    const auto quote = peek();
    if (quote != '\'' && quote != '"')
      fail("its header is malformed");
    const auto first = ++at_;
    const auto last = text_.find(quote, first);
    if (last == std::string_view::npos)
      fail("its header is malformed");
    at_ = last + 1;
    return text_.substr(first, last - first);
  }

  std::string_view description() {
    if (peek() == '[')
      fail("it holds records, which are not supported");
    return quoted();
  }

  bool boolean() {
    skip_space();
    for (const auto& [word, result] : {std::pair{"True"sv, true}, std::pair{"False"sv, false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return result;
      }
    fail("its header is malformed");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> dims;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t n = 0;
      const auto* first = text_.data() + at_;
      const auto [end, problem] = std::from_chars(first, text_.data() + text_.size(), n);
      if (problem != std::errc{} || dims.size() > shape::max_rank)
        fail("its header has a malformed shape");
      at_ += static_cast<std::size_t>(end - first);
      dims.push_back(n);
      accept('L'); // as Python 2 wrote it
      if (!accept(',') && peek() != ')')
        fail("its header has a malformed shape");
    }
    return dims;
  }

  void set_type(npy_header& header, std::string_view descr) const {
    const auto shown = std::string{descr.substr(0, 40)};
    if (descr == "|O" || descr == "O")
      fail("it holds pickled Python objects, which are not supported");
    std::size_t size = 0;
    const auto* end = descr.data() + descr.size();
    if (descr.size() < 3 || ("<>|="sv.find(descr[0]) == std::string_view::npos) ||
        std::from_chars(descr.data() + 2, end, size).ptr != end)
      fail("its element type '" + shown + "' is not supported");
    header.kind = descr[1];
    header.swapped = (descr[0] == '<' || descr[0] == '>') && descr[0] != native_order;
    header.type = type_of(header.kind, size);
    if (header.type == element_type::undefined)
      fail("its element type '" + shown + "' is not supported");
    if (header.kind == 'U') {
      if (size > max_string)
        fail("its strings are absurdly long");
      size *= sizeof(char32_t);
    }
    header.item_size = size;
  }

  static element_type type_of(char kind, std::size_t size) {
    using enum element_type;
    switch (kind) {
    case 'f':
      return size == 2 ? float16 : size == 4 ? float32 : size == 8 ? float64 : undefined;
    case 'i':
      return size == 1 ? int8 : size == 2 ? int16 : size == 4 ? int32 : size == 8 ? int64 : undefined;
    case 'u':
      return size == 1 ? uint8 : size == 2 ? uint16 : size == 4 ? uint32 : size == 8 ? uint64 : undefined;
    case 'b':
      return size == 1 ? boolean : undefined;
    case 'c':
      return size == 8 ? complex64 : size == 16 ? complex128 : undefined;
    case 'U':
    case 'S':
      return string;
    default:
      return undefined;
    }
  }

  static constexpr std::size_t max_string = std::size_t{1} << 32;

  const std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t n = 0;
  for (auto i = bytes.size(); i-- > 0;)
    n = n << 8 | static_cast<unsigned char>(bytes[i]);
  return n;
}

} // namespace

npy_header parse_npy_header(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with(magic))
    throw bad_file(name, "it is not a .npy file");
  const auto version_at = magic.size();
  if (bytes.size() < version_at + 2)
    throw bad_file(name, "it is truncated");
  const auto version = static_cast<unsigned char>(bytes[version_at]);
  if (version < 1 || version > 3)
    throw bad_file(name, "its format version " + std::to_string(version) + " is not supported");
  const auto length_at = version_at + 2;
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < length_at + length_bytes)
    throw bad_file(name, "it is truncated");
  const auto length = little_endian(bytes.substr(length_at, length_bytes));
  npy_header header;
  header.data_offset = length_at + length_bytes + length;
  if (bytes.size() < header.data_offset)
    throw bad_file(name, "it is truncated");
  header_parser{bytes.substr(length_at + length_bytes, length), name}.parse(header);
  return header;
}

std::string make_npy_header(std::string_view descr, const shape& s) {
  auto text = "{'descr': '" + std::string{descr} + "', 'fortran_order': False, 'shape': (";
  for (const auto n : s)
    text += std::to_string(n) + (s.rank() == 1 ? "," : ", ");
  if (s.rank() > 1)
    text.resize(text.size() - 2);
  text += "), }";
  constexpr std::size_t alignment = 64; // of the elements in the file
  const auto before = magic.size() + 4;
  const auto total = (before + text.size() + 1 + alignment - 1) / alignment * alignment;
  text.append(total - before - text.size() - 1, ' ');
  text += '\n';
  std::string result{magic};
  result += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return result + text;
}

} // namespace sluice
