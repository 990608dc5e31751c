#include <sluice/graph/value_codec.hpp>

#include <sluice/graph/collections.hpp>
#include <sluice/graph/tensor.hpp>

#include <algorithm>
#include <cstring>

namespace sluice {

namespace {

constexpr int deepest = 32; // sequences of optionals of sequences …
constexpr char empty_mark = '\x7f';

template <class T>
void put(std::string& out, const T& x) {
  out.append(reinterpret_cast<const char*>(&x), sizeof x);
}

void put_text(std::string& out, const std::string& s) {
  put(out, static_cast<std::uint64_t>(s.size()));
  out += s;
}

void write(std::string& out, const value& v, int depth = 0) {
  if (depth > deepest)
    throw error{errc::unsupported, "a value that is nested so deeply cannot be sent"};
  if (v.empty()) {
    out += empty_mark;
    return;
  }
  out += static_cast<char>(v.kind());
  switch (v.kind()) {
  case value_kind::tensor: {
    const auto& t = v.tensor();
    if (t.layout() != layout::plain)
      throw error{errc::unsupported, "a tensor in a blocked layout cannot be sent"};
    put(out, t.type());
    put(out, static_cast<std::uint8_t>(t.shape().rank()));
    for (const auto extent : t.shape())
      put(out, extent);
    if (t.type() == element_type::string)
      for (const auto& s : t.data<std::string>())
        put_text(out, s);
    else
      out.append(static_cast<const char*>(t.raw()), t.bytes());
    return;
  }
  case value_kind::sequence:
    put(out, static_cast<std::uint64_t>(v.sequence().items.size()));
    for (const auto& item : v.sequence().items)
      write(out, item, depth + 1);
    return;
  case value_kind::optional:
    write(out, v.optional().content, depth + 1);
    return;
  case value_kind::map:
    put(out, static_cast<std::uint64_t>(v.map().entries.size()));
    for (const auto& [key, entry] : v.map().entries) {
      put(out, static_cast<std::uint8_t>(key.index()));
      if (key.index() == 0)
        put(out, std::get<std::int64_t>(key));
      else
        put_text(out, std::get<std::string>(key));
      write(out, entry, depth + 1);
    }
    return;
  case value_kind::object:
    throw error{errc::unsupported, describe(v) + " cannot be sent to another process"};
  }
}

bool can_write(const value& v, int depth) {
  if (v.empty())
    return true;
  const auto inner = [depth](const value& content) { return can_write(content, depth + 1); };
  switch (v.kind()) {
  case value_kind::tensor:
    return depth <= deepest && v.tensor().layout() == layout::plain;
  case value_kind::sequence:
    return depth <= deepest && std::all_of(v.sequence().items.begin(), v.sequence().items.end(), inner);
  case value_kind::optional:
    return depth <= deepest && inner(v.optional().content);
  case value_kind::map:
    return depth <= deepest && std::all_of(v.map().entries.begin(), v.map().entries.end(),
                                           [&](const auto& entry) { return inner(entry.second); });
  case value_kind::object:
    return false;
  }
  return false;
}

class reader {
public:
  explicit reader(std::string_view bytes) : rest_(bytes) {}

  value read(int depth = 0) {
    if (depth > deepest)
      throw error{errc::invalid_argument, "an encoded value is nested too deeply"};
    const auto mark = get<char>();
    if (mark == empty_mark)
      return {};
    switch (static_cast<value_kind>(mark)) {
    case value_kind::tensor:
      return read_tensor();
    case value_kind::sequence: {
      std::vector<value> items;
      for (auto n = count(); n > 0; --n)
        items.push_back(read(depth + 1));
      return sequence::make(std::move(items));
    }
    case value_kind::optional:
      return optional_value::make(read(depth + 1));
    case value_kind::map: {
      std::map<dictionary::key, value> entries;
      for (auto n = count(); n > 0; --n) {
        dictionary::key key;
        if (get<std::uint8_t>() == 0)
          key = get<std::int64_t>();
        else
          key = text();
        entries.insert_or_assign(std::move(key), read(depth + 1));
      }
      return dictionary::make(std::move(entries));
    }
    case value_kind::object:
      break;
    }
    throw error{errc::invalid_argument, "an encoded value has an unknown kind"};
  }

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

private:
  std::string_view take(std::size_t n) {
    if (n > rest_.size())
      throw error{errc::invalid_argument, "an encoded value is truncated"};
    const auto taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  template <class T>
  T get() {
    T x;
    std::memcpy(&x, take(sizeof x).data(), sizeof x);
    return x;
  }

  /// A number of items, each of at least one byte.
  std::uint64_t count() {
    const auto n = get<std::uint64_t>();
    if (n > rest_.size())
      throw error{errc::invalid_argument, "an encoded value is truncated"};
    return n;
  }

  std::string text() { return std::string{take(count())}; }

  value read_tensor() {
    const auto type = get<element_type>();
    const auto rank = get<std::uint8_t>();
    if (static_cast<int>(type) >= element_type_count || type == element_type::undefined ||
        rank > shape::max_rank)
      throw error{errc::invalid_argument, "an encoded tensor has no such type or rank"};
    std::array<std::int64_t, shape::max_rank> dims{};
    for (std::size_t i = 0; i < rank; ++i)
      dims[i] = get<std::int64_t>();
    const shape s{std::span<const std::int64_t>{dims.data(), rank}};
    const auto n = static_cast<std::size_t>(s.elements());
    if (type == element_type::string) {
      if (n > rest_.size())
        throw error{errc::invalid_argument, "an encoded value is truncated"};
      auto t = tensor::make(type, s);
      for (auto& element : t->data<std::string>())
        element = text();
      return t;
    }
    if (n > rest_.size() / size_of(type))
      throw error{errc::invalid_argument, "an encoded value is truncated"};
    auto t = tensor::make(type, s);
    const auto bytes = take(t->bytes());
    if (!bytes.empty())
      std::memcpy(t->raw(), bytes.data(), bytes.size());
    if (type == element_type::boolean && bytes.find_first_not_of(std::string_view{"\0\1", 2}) != bytes.npos)
      throw error{errc::invalid_argument, "an encoded bool is neither 0 nor 1"};
    return t;
  }

  std::string_view rest_;
};

} // namespace

std::string encode(const value& v) {
  std::string out;
  write(out, v);
  return out;
}

bool encodable(const value& v) {
  return can_write(v, 0);
}

value decode(std::string_view bytes) {
  reader in{bytes};
  auto v = in.read();
  if (!in.at_end())
    throw error{errc::invalid_argument, "bytes follow an encoded value"};
  return v;
}

} // namespace sluice
