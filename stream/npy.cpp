#include <sluice/stream/npy.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/stream/file_bytes.hpp>
#include <sluice/stream/npy_header.hpp>
#include <sluice/stream/utf8.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace sluice {

namespace {

constexpr char native_order = std::endian::native == std::endian::little ? '<' : '>';

/// The elements in C order. Walks the result and keeps the position of its element in the source.
std::string from_fortran_order(std::string_view elements, const shape& s, std::size_t item) {
  std::array<std::size_t, shape::max_rank> index{}, stride{};
  std::size_t step = item;
  for (std::size_t axis = 0; axis < s.rank(); ++axis) {
    stride[axis] = step;
    step *= static_cast<std::size_t>(s[axis]);
  }
  std::string result(elements.size(), '\0');
  std::size_t from = 0;
  for (std::size_t to = 0; to < result.size(); to += item) {
    std::memcpy(result.data() + to, elements.data() + from, item);
    for (auto axis = s.rank(); axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < static_cast<std::size_t>(s[axis]))
        break;
      from -= stride[axis] * index[axis];
      index[axis] = 0;
    }
  }
  return result;
}

char32_t code_point(const char* bytes, bool swapped) {
  std::uint32_t c = 0;
  std::memcpy(&c, bytes, sizeof c);
  return swapped ? __builtin_bswap32(c) : c;
}

/// A string of fixed width: zeros at the end are padding.
std::string text_of(std::string_view item, const npy_header& header) {
  if (header.kind == 'S')
    return std::string{item.substr(0, item.find_last_not_of('\0') + 1)};
  std::string text;
  auto length = item.size() / sizeof(char32_t);
  while (length > 0 && code_point(item.data() + (length - 1) * sizeof(char32_t), false) == 0)
    --length;
  for (std::size_t i = 0; i < length; ++i)
    append_utf8(text, code_point(item.data() + i * sizeof(char32_t), header.swapped));
  return text;
}

void swap_bytes(void* elements, std::size_t bytes, std::size_t unit) {
  auto* p = static_cast<char*>(elements);
  for (std::size_t i = 0; i < bytes; i += unit)
    std::reverse(p + i, p + i + unit);
}

std::string string_elements(std::span<const std::string> strings, std::string& descr) {
  std::vector<std::u32string> decoded;
  std::size_t width = 1;
  for (const auto& s : strings) {
    auto points = decode_utf8(s);
    if (!points)
      break;
    width = std::max(width, points->size());
    decoded.push_back(std::move(*points));
  }
  std::string result;
  if (decoded.size() == strings.size()) {
    descr = std::string{native_order} + "U" + std::to_string(width);
    for (auto& points : decoded) {
      points.resize(width);
      result.append(reinterpret_cast<const char*>(points.data()), width * sizeof(char32_t));
    }
    return result;
  }
  for (const auto& s : strings)
    width = std::max(width, s.size());
  descr = "|S" + std::to_string(width);
  for (const auto& s : strings)
    (result += s).append(width - s.size(), '\0');
  return result;
}

std::string descr_of(element_type type) {
  using enum element_type;
  const auto size = std::to_string(size_of(type));
  switch (type) {
  case boolean:
    return "|b1";
  case uint8:
    return "|u1";
  case int8:
    return "|i1";
  case float16:
  case float32:
  case float64:
    return native_order + ("f" + size);
  case int16:
  case int32:
  case int64:
    return native_order + ("i" + size);
  case uint16:
  case uint32:
  case uint64:
    return native_order + ("u" + size);
  case complex64:
  case complex128:
    return native_order + ("c" + size);
  case bfloat16: // written as float32
    return native_order + std::string{"f4"};
  case string:
  case undefined:
    break;
  }
  throw error{errc::invalid_argument,
              std::string{to_string(type)} + " elements cannot be written to a .npy file"};
}

} // namespace

value decode_npy(std::string_view bytes, const std::string& name) {
  const auto header = parse_npy_header(bytes, name);
  auto elements = bytes.substr(header.data_offset);
  const auto count = static_cast<std::size_t>(header.shape.elements());
  // Compared by division: the product of hostile numbers may overflow. Strings of width 0 take no bytes in
  // the file, but one object each in memory.
  const auto least = std::max<std::size_t>(header.item_size, 1);
  if (count > elements.size() / least)
    throw bad_file(name, "it holds " + std::to_string(elements.size()) + " bytes of elements, too few for " +
                             std::to_string(count) + " elements of " + std::to_string(least) + " bytes");
  elements = elements.substr(0, count * header.item_size);

  std::string reordered;
  if (header.fortran_order && header.shape.rank() > 1 && header.item_size > 0) {
    reordered = from_fortran_order(elements, header.shape, header.item_size);
    elements = reordered;
  }
  auto result = tensor::make(header.type, header.shape);
  if (header.type == element_type::string) {
    auto strings = result->data<std::string>();
    for (std::size_t i = 0; i < count; ++i)
      strings[i] = text_of(elements.substr(i * header.item_size, header.item_size), header);
    return result;
  }
  if (header.type == element_type::boolean) {
    // Any byte but 0 is true; a C++ bool must hold exactly 0 or 1.
    std::transform(elements.begin(), elements.end(), static_cast<unsigned char*>(result->raw()),
                   [](char c) { return static_cast<unsigned char>(c != 0); });
    return result;
  }
  if (!elements.empty())
    std::memcpy(result->raw(), elements.data(), elements.size());
  if (header.swapped)
    swap_bytes(result->raw(), elements.size(), header.kind == 'c' ? header.item_size / 2 : header.item_size);
  return result;
}

std::string encode_npy(const value& array) {
  const auto& t = array.tensor();
  if (t.layout() != layout::plain)
    throw error{errc::invalid_argument,
                describe(array) + " is laid out in blocks: it cannot be written as it is"};
  if (t.type() == element_type::string) {
    std::string descr;
    const auto elements = string_elements(t.data<std::string>(), descr);
    return make_npy_header(descr, t.shape()) + elements;
  }
  auto result = make_npy_header(descr_of(t.type()), t.shape());
  if (t.type() == element_type::bfloat16) {
    for (const auto b : t.data<bfloat16>()) {
      const auto f = static_cast<float>(b);
      result.append(reinterpret_cast<const char*>(&f), sizeof f);
    }
    return result;
  }
  return result.append(static_cast<const char*>(t.raw()), t.bytes());
}

value load_npy(const std::filesystem::path& path) {
  return decode_npy(read_file(path), path.string());
}

void save_npy(const std::filesystem::path& path, const value& array) {
  write_file(path, encode_npy(array));
}

} // namespace sluice
