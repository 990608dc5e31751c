#include <sluice/graph/onnx_tensor.hpp>

#include <sluice/graph/collections.hpp>
#include <sluice/graph/mapped_file.hpp>
#include <sluice/graph/onnx/values.hpp>
#include <sluice/graph/onnx/wire.hpp>
#include <sluice/graph/tensor.hpp>

#include <cerrno>
#include <fstream>
#include <limits>
#include <system_error>

namespace sluice {

namespace {

constexpr proto::wire_limits limits{std::numeric_limits<int>::max(), 4'000'000};
constexpr std::size_t max_sparse_bytes = std::size_t{1} << 28;

[[noreturn]] void malformed(const std::string& why) {
  throw error{errc::invalid_model, why};
}

class reader {
public:
  value tensor(onnx::TensorProto& t) { return proto::tensor_from(t, files_); }
  value tensor(onnx::SparseTensorProto& t) { return proto::tensor_from(t, files_, max_sparse_bytes); }

  value sequence(onnx::SequenceProto& s) {
    std::vector<value> items;
    const auto read = [&](auto& field, auto one) {
      for (auto& item : field)
        items.push_back((this->*one)(item));
    };
    switch (s.elem_type()) {
    case onnx::SequenceProto::TENSOR:
      for (auto& t : *s.mutable_tensor_values())
        items.push_back(tensor(t));
      break;
    case onnx::SequenceProto::SPARSE_TENSOR:
      for (auto& t : *s.mutable_sparse_tensor_values())
        items.push_back(tensor(t));
      break;
    case onnx::SequenceProto::SEQUENCE:
      read(*s.mutable_sequence_values(), &reader::sequence);
      break;
    case onnx::SequenceProto::MAP:
      read(*s.mutable_map_values(), &reader::map);
      break;
    case onnx::SequenceProto::OPTIONAL:
      read(*s.mutable_optional_values(), &reader::optional);
      break;
    case onnx::SequenceProto::UNDEFINED:
      break;
    default:
      malformed("sequence '" + s.name() + "' is of unknown items " + std::to_string(s.elem_type()));
    }
    return sluice::sequence::make(std::move(items));
  }

  value optional(onnx::OptionalProto& o) {
    value content;
    switch (o.elem_type()) {
    case onnx::OptionalProto::TENSOR:
      content = o.has_tensor_value() ? tensor(*o.mutable_tensor_value()) : value{};
      break;
    case onnx::OptionalProto::SPARSE_TENSOR:
      content = o.has_sparse_tensor_value() ? tensor(*o.mutable_sparse_tensor_value()) : value{};
      break;
    case onnx::OptionalProto::SEQUENCE:
      content = o.has_sequence_value() ? sequence(*o.mutable_sequence_value()) : value{};
      break;
    case onnx::OptionalProto::MAP:
      content = o.has_map_value() ? map(*o.mutable_map_value()) : value{};
      break;
    case onnx::OptionalProto::OPTIONAL:
      content = o.has_optional_value() ? optional(*o.mutable_optional_value()) : value{};
      break;
    case onnx::OptionalProto::UNDEFINED:
      break;
    default:
      malformed("optional '" + o.name() + "' is of unknown content " + std::to_string(o.elem_type()));
    }
    return optional_value::make(std::move(content));
  }

  value map(onnx::MapProto& m) {
    const auto items = sequence(*m.mutable_values());
    const auto text = m.key_type() == onnx::TensorProto::STRING;
    const auto& values = items.sequence().items;
    if (static_cast<std::size_t>(text ? m.string_keys_size() : m.keys_size()) != values.size())
      malformed("map '" + m.name() + "' has not as many keys as values");
    std::map<dictionary::key, value> entries;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<int>(i);
      auto key = text ? dictionary::key{m.string_keys(at)} : dictionary::key{std::int64_t{m.keys(at)}};
      if (!entries.emplace(std::move(key), values[i]).second)
        malformed("map '" + m.name() + "' has a key twice");
    }
    return dictionary::make(std::move(entries));
  }

private:
  proto::external_files files_{{}};
};

template <class Message>
Message parsed(std::span<const std::byte> bytes) {
  Message m;
  proto::parse(bytes, m, limits);
  return m;
}

onnx::OptionalProto optional_to(const value& v, const std::string& name);
onnx::MapProto map_to(const value& v, const std::string& name);

onnx::SequenceProto sequence_to(const std::vector<value>& items, const std::string& name) {
  onnx::SequenceProto s;
  s.set_name(name);
  s.set_elem_type(onnx::SequenceProto::TENSOR);
  for (const auto& item : items) {
    if (item.empty() || item.kind() != items.front().kind())
      throw error{errc::invalid_argument, "a sequence of different kinds of values cannot be written"};
    switch (item.kind()) {
    case value_kind::tensor:
      *s.add_tensor_values() = proto::tensor_to(item, {});
      break;
    case value_kind::sequence:
      s.set_elem_type(onnx::SequenceProto::SEQUENCE);
      *s.add_sequence_values() = sequence_to(item.sequence().items, {});
      break;
    case value_kind::map:
      s.set_elem_type(onnx::SequenceProto::MAP);
      *s.add_map_values() = map_to(item, {});
      break;
    case value_kind::optional:
      s.set_elem_type(onnx::SequenceProto::OPTIONAL);
      *s.add_optional_values() = optional_to(item, {});
      break;
    case value_kind::object:
      throw error{errc::invalid_argument, describe(item) + " cannot be written as ONNX"};
    }
  }
  return s;
}

onnx::MapProto map_to(const value& v, const std::string& name) {
  onnx::MapProto m;
  m.set_name(name);
  m.set_key_type(onnx::TensorProto::INT64);
  std::vector<value> values;
  for (const auto& [key, entry] : v.map().entries) {
    if (const auto* text = std::get_if<std::string>(&key)) {
      m.set_key_type(onnx::TensorProto::STRING);
      m.add_string_keys(*text);
    } else {
      m.add_keys(std::get<std::int64_t>(key));
    }
    values.push_back(entry);
  }
  *m.mutable_values() = sequence_to(values, {});
  return m;
}

onnx::OptionalProto optional_to(const value& v, const std::string& name) {
  onnx::OptionalProto o;
  o.set_name(name);
  const auto& content = v.optional().content;
  if (content.empty())
    return o;
  switch (content.kind()) {
  case value_kind::tensor:
    o.set_elem_type(onnx::OptionalProto::TENSOR);
    *o.mutable_tensor_value() = proto::tensor_to(content, {});
    break;
  case value_kind::sequence:
    o.set_elem_type(onnx::OptionalProto::SEQUENCE);
    *o.mutable_sequence_value() = sequence_to(content.sequence().items, {});
    break;
  case value_kind::map:
    o.set_elem_type(onnx::OptionalProto::MAP);
    *o.mutable_map_value() = map_to(content, {});
    break;
  case value_kind::optional:
    o.set_elem_type(onnx::OptionalProto::OPTIONAL);
    *o.mutable_optional_value() = optional_to(content, {});
    break;
  case value_kind::object:
    throw error{errc::invalid_argument, describe(content) + " cannot be written as ONNX"};
  }
  return o;
}

std::vector<std::byte> encoded(const google::protobuf::Message& m) {
  if (m.ByteSizeLong() > limits.max_bytes)
    throw error{errc::invalid_argument, "a value of more than 2 GiB cannot be written as ONNX"};
  std::vector<std::byte> bytes(m.ByteSizeLong());
  (void)m.SerializeToArray(bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

} // namespace

value read_onnx_value(std::span<const std::byte> bytes, value_kind kind) {
  reader r;
  if (bytes.empty()) { // an optional without content and a name is an empty message
    if (kind == value_kind::optional)
      return optional_value::make({});
    if (kind == value_kind::sequence)
      return sequence::make({});
  }
  switch (kind) {
  case value_kind::tensor: {
    auto m = parsed<onnx::TensorProto>(bytes);
    return r.tensor(m);
  }
  case value_kind::sequence: {
    auto m = parsed<onnx::SequenceProto>(bytes);
    return r.sequence(m);
  }
  case value_kind::map: {
    auto m = parsed<onnx::MapProto>(bytes);
    return r.map(m);
  }
  case value_kind::optional: {
    auto m = parsed<onnx::OptionalProto>(bytes);
    return r.optional(m);
  }
  case value_kind::object:
    break;
  }
  throw error{errc::invalid_argument, "C++ objects are not read from ONNX files"};
}

value read_onnx_value(const std::filesystem::path& file, value_kind kind) try {
  return read_onnx_value(mapped_file::open(file)->bytes(), kind);
} catch (const error& e) {
  if (e.code() == errc::io_failed)
    throw;
  throw error{e.code(), file.string() + ": " + e.what()};
}

std::vector<std::byte> onnx_bytes(const value& v, const std::string& name) {
  if (v.is(value_kind::sequence))
    return encoded(sequence_to(v.sequence().items, name));
  if (v.is(value_kind::map))
    return encoded(map_to(v, name));
  if (v.is(value_kind::optional))
    return encoded(optional_to(v, name));
  return encoded(proto::tensor_to(v, name));
}

void write_onnx_value(const std::filesystem::path& file, const value& v, const std::string& name) {
  const auto bytes = onnx_bytes(v, name);
  std::ofstream out{file, std::ios::binary};
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out)
    throw error{errc::io_failed,
                file.string() + " cannot be written: " + std::system_category().message(errno)};
}

} // namespace sluice
