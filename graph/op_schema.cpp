#include <sluice/graph/op_schema.hpp>

#include <sluice/graph/tensor.hpp>

namespace sluice {

const value& op_view::constant(std::size_t i) const noexcept {
  static const value unknown;
  return i < constants_.size() ? constants_[i] : unknown;
}

void op_view::left_out(std::size_t i) {
  throw error{errc::invalid_graph, "input " + std::to_string(i) + " is needed, but left out"};
}

std::optional<std::vector<std::int64_t>> op_view::constant_integers(std::size_t i) const {
  const auto& v = constant(i);
  if (v.empty())
    return std::nullopt;
  const auto& t = v.tensor();
  if (t.type() == element_type::int32) {
    const auto elements = t.data<std::int32_t>();
    return std::vector<std::int64_t>{elements.begin(), elements.end()};
  }
  const auto elements = t.data<std::int64_t>();
  return std::vector<std::int64_t>{elements.begin(), elements.end()};
}

void op_registry::add(op_schema schema) {
  auto& known = schemas_[{schema.domain, schema.name}];
  const auto since = schema.since_opset;
  const auto name = schema.name;
  if (!known.try_emplace(since, std::make_unique<const op_schema>(std::move(schema))).second)
    throw error{errc::invalid_argument,
                "operator " + name + " is registered twice for opset " + std::to_string(since)};
}

const op_schema* op_registry::find(std::string_view domain, std::string_view name, int opset) const {
  const auto entry = schemas_.find(std::pair{std::string{domain}, std::string{name}});
  if (entry == schemas_.end())
    return nullptr;
  const auto later = entry->second.upper_bound(opset);
  return later == entry->second.begin() ? nullptr : std::prev(later)->second.get();
}

bool op_registry::knows(std::string_view domain, std::string_view name) const {
  return schemas_.find(std::pair{std::string{domain}, std::string{name}}) != schemas_.end();
}

std::vector<const op_schema*> op_registry::all() const {
  std::vector<const op_schema*> result;
  for (const auto& [key, known] : schemas_)
    for (const auto& [since, schema] : known)
      result.push_back(schema.get());
  return result;
}

} // namespace sluice
