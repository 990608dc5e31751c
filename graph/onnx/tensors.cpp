#include <sluice/graph/onnx/values.hpp>

#include <sluice/graph/mapped_file.hpp>
#include <sluice/graph/tensor.hpp>

#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace sluice::proto {

namespace {

// Smaller ones are copied: they get aligned memory and need no release function.
constexpr std::size_t move_from_bytes = 64 * 1024;

[[noreturn]] void malformed(const std::string& owner, const std::string& why) {
  throw error{errc::invalid_model, owner + ": " + why};
}

template <class Dims>
shape shape_from(const Dims& dims, const std::string& owner) {
  if (static_cast<std::size_t>(dims.size()) > shape::max_rank)
    throw error{errc::unsupported, owner + " has rank " + std::to_string(dims.size()) + "; at most " +
                                       std::to_string(shape::max_rank) + " is supported"};
  try {
    return shape{std::span<const std::int64_t>{dims.data(), static_cast<std::size_t>(dims.size())}};
  } catch (const error& e) {
    malformed(owner, e.what());
  }
}

/// Bytes of a tensor of plain elements, or an error where that number has no meaning.
std::size_t bytes_of(element_type type, const shape& s, const std::string& owner) {
  const auto n = static_cast<std::size_t>(s.elements());
  if (n > std::numeric_limits<std::size_t>::max() / 2 / size_of(type))
    malformed(owner, "shape " + to_string(s) + " has too many elements");
  return n * size_of(type);
}

/// The element that `x`, as it stands in the file, means.
template <class T, class Number>
T element_from(Number x, const std::string& owner) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    if (x < 0 || x > 0xffff)
      malformed(owner, std::to_string(x) + " is not a pattern of 16 bits");
    T t;
    t.bits = static_cast<std::uint16_t>(x);
    return t;
  } else if constexpr (std::is_same_v<T, bool>) {
    return x != 0;
  } else {
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(Number))
      if (!std::in_range<T>(x))
        malformed(owner, std::to_string(x) + " does not fit its element type");
    return static_cast<T>(x);
  }
}

template <class T, class Field>
intrusive_ptr<tensor> fill(const shape& s, const Field& field, const std::string& owner) {
  constexpr std::size_t parts = requires(T t) {
    t.imag();
  }
  ? 2 : 1;
  const auto given = static_cast<std::size_t>(field.size());
  const auto wanted = static_cast<std::size_t>(s.elements());
  if (given % parts != 0 || given / parts != wanted)
    malformed(owner, std::to_string(given / parts) + " elements where the shape " + to_string(s) + " needs " +
                         std::to_string(wanted));
  auto t = tensor::make(element_type_of<T>, s);
  auto out = t->template data<T>();
  for (std::size_t i = 0; i < wanted; ++i) {
    const auto at = static_cast<int>(i * parts);
    if constexpr (parts == 2)
      out[i] = T{field[at], field[at + 1]};
    else if constexpr (std::is_same_v<T, std::string>)
      out[i] = field[at];
    else
      out[i] = element_from<T>(field[at], owner);
  }
  return t;
}

/// The elements from the field that ONNX assigns to their type.
template <class T>
intrusive_ptr<tensor> from_typed_field(const onnx::TensorProto& t, const shape& s, const std::string& owner) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, std::complex<float>>)
    return fill<T>(s, t.float_data(), owner);
  else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>)
    return fill<T>(s, t.double_data(), owner);
  else if constexpr (std::is_same_v<T, std::string>)
    return fill<T>(s, t.string_data(), owner);
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return fill<T>(s, t.int64_data(), owner);
  else if constexpr (std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>)
    return fill<T>(s, t.uint64_data(), owner);
  else
    return fill<T>(s, t.int32_data(), owner);
}

/// A copy of `bytes`, which have the right number. Little-endian, as all machines that this is built for.
value copied(element_type type, const shape& s, const std::byte* bytes, std::size_t size) {
  auto t = tensor::make(type, s);
  if (type == element_type::boolean) {
    auto out = t->data<bool>();
    for (std::size_t i = 0; i < size; ++i)
      out[i] = bytes[i] != std::byte{0}; // a bool of any other pattern is undefined behaviour
  } else if (size > 0) {
    std::memcpy(t->raw(), bytes, size);
  }
  return t;
}

bool may_share(element_type type, const void* bytes, std::size_t size) {
  // The alignment of complex numbers is that of their parts, so the element's size is enough for all.
  return type != element_type::boolean && size >= move_from_bytes &&
         reinterpret_cast<std::uintptr_t>(bytes) % size_of(type) == 0;
}

std::optional<std::uint64_t> number_from(const std::string& text) {
  std::uint64_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  return failed == std::errc{} && end == text.data() + text.size() ? std::optional{n} : std::nullopt;
}

value from_file(const onnx::TensorProto& t, element_type type, const shape& s, external_files& files,
                const std::string& owner) {
  std::string location;
  std::uint64_t offset = 0;
  const auto needed = bytes_of(type, s, owner);
  std::uint64_t length = needed;
  for (const auto& entry : t.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      const auto n = number_from(entry.value());
      if (!n)
        malformed(owner, entry.key() + " of its external data is '" + entry.value() + "', not a number");
      (entry.key() == "offset" ? offset : length) = *n;
    }
  }
  if (length != needed)
    malformed(owner, "external data of " + std::to_string(length) + " bytes where " +
                         std::string{to_string(type)} + to_string(s) + " needs " + std::to_string(needed));
  std::shared_ptr<const mapped_file> file;
  try {
    file = files.open(location);
  } catch (const error& e) {
    throw error{e.code(), owner + ": " + e.what()};
  }
  const auto all = file->bytes();
  if (offset > all.size() || length > all.size() - offset)
    malformed(owner, "bytes " + std::to_string(offset) + " to " + std::to_string(offset) + "+" +
                         std::to_string(length) + " are outside of '" + location + "', which has " +
                         std::to_string(all.size()));
  const auto* bytes = all.data() + offset;
  if (may_share(type, bytes, needed))
    return tensor::over(type, s, bytes, [file] {});
  return copied(type, s, bytes, needed);
}

} // namespace

element_type element_type_from(int number, const std::string& owner) {
  constexpr int newest_in_onnx = 26; // later standards have 8, 6, 4 and 2 bit types
  if (number > 0 && number < element_type_count)
    return static_cast<element_type>(number);
  if (number >= element_type_count && number <= newest_in_onnx)
    throw error{errc::unsupported,
                owner + " has ONNX element type " + std::to_string(number) + ", which is not supported"};
  malformed(owner, std::to_string(number) + " is no element type");
}

value tensor_from(onnx::TensorProto& t, external_files& files) {
  const auto owner = "tensor '" + t.name() + '\'';
  const auto type = element_type_from(t.data_type(), owner);
  const auto s = shape_from(t.dims(), owner);
  if (t.has_segment())
    throw error{errc::unsupported, owner + " is split into segments, which is not supported"};
  const auto external = t.data_location() == onnx::TensorProto::EXTERNAL;
  if (!external && !t.has_raw_data())
    return visit_element_type(
        type, [&]<class T>(std::type_identity<T>) -> value { return from_typed_field<T>(t, s, owner); });
  if (type == element_type::string)
    malformed(owner, "strings cannot be raw or external data");
  if (external)
    return from_file(t, type, s, files, owner);
  const auto needed = bytes_of(type, s, owner);
  if (t.raw_data().size() != needed)
    malformed(owner, std::to_string(t.raw_data().size()) + " bytes of raw data where " +
                         std::string{to_string(type)} + to_string(s) + " needs " + std::to_string(needed));
  if (!may_share(type, t.raw_data().data(), needed))
    return copied(type, s, reinterpret_cast<const std::byte*>(t.raw_data().data()), needed);
  auto bytes = std::make_shared<const std::string>(std::move(*t.mutable_raw_data()));
  return tensor::over(type, s, bytes->data(), [bytes] {});
}

value tensor_from(onnx::SparseTensorProto& t, external_files& files, std::size_t max_bytes) {
  const auto owner = "sparse tensor '" + t.values().name() + '\'';
  const auto s = shape_from(t.dims(), owner);
  const auto values = tensor_from(*t.mutable_values(), files);
  const auto positions = tensor_from(*t.mutable_indices(), files);
  const auto type = values.tensor().type();
  const auto count = values.tensor().elements();
  if (positions.tensor().type() != element_type::int64)
    malformed(owner, "its indices are not int64");
  const auto flat = positions.tensor().shape() == shape{count};
  if (!flat && positions.tensor().shape() != shape{count, static_cast<std::int64_t>(s.rank())})
    malformed(owner, "indices of shape " + to_string(positions.tensor().shape()) + " do not fit " +
                         std::to_string(count) + " values of a tensor " + to_string(s));
  if (bytes_of(type, s, owner) > max_bytes)
    throw error{errc::unsupported, owner + " has " + to_string(s) + " elements when made dense, more than " +
                                       std::to_string(max_bytes) + " bytes"};
  const auto indices = positions.tensor().data<std::int64_t>();
  return visit_element_type(type, [&]<class T>(std::type_identity<T>) -> value {
    auto dense = tensor::make(type, s);
    auto out = dense->template data<T>();
    std::fill(out.begin(), out.end(), T{});
    const auto in = values.tensor().data<T>();
    for (std::size_t i = 0; i < in.size(); ++i) {
      std::int64_t at = flat ? indices[i] : 0;
      auto inside = at >= 0 && at < s.elements();
      for (std::size_t axis = 0; !flat && inside && axis < s.rank(); ++axis) {
        const auto index = indices[i * s.rank() + axis];
        inside = index >= 0 && index < s[axis];
        at = at * s[axis] + index;
      }
      if (!inside)
        malformed(owner, "value " + std::to_string(i) + " lies outside of the shape " + to_string(s));
      out[static_cast<std::size_t>(at)] = in[i];
    }
    return dense;
  });
}

onnx::TensorProto tensor_to(const value& v, const std::string& name) {
  const auto& t = v.tensor();
  if (t.layout() != layout::plain)
    throw error{errc::invalid_argument, describe(v) + " is not in the plain layout"};
  onnx::TensorProto result;
  result.set_name(name);
  result.set_data_type(static_cast<int>(t.type()));
  for (const auto extent : t.shape())
    result.add_dims(extent);
  if (t.type() == element_type::string)
    for (const auto& text : t.data<std::string>())
      result.add_string_data(text);
  else
    result.set_raw_data(t.raw(), t.bytes());
  return result;
}

} // namespace sluice::proto
