#include <sluice/ops/inference.hpp>

#include <algorithm>

namespace sluice::ops {

namespace {

double bytes(const value_type& t) {
  return elements(t) * static_cast<double>(size_of(t.element()));
}

} // namespace

std::size_t normalize_axis(std::int64_t axis, std::size_t rank, bool end_allowed) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis > (end_allowed ? r : r - 1))
    throw error{errc::invalid_graph,
                "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(r)};
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

partial_shape broadcast(const partial_shape& a, const partial_shape& b) {
  if (!a.has_rank() || !b.has_rank())
    return {};
  const auto rank = std::max(a.rank(), b.rank());
  std::vector<dim> dims(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis_of = [&](const partial_shape& s) {
      return i + s.rank() < rank ? dim{1} : s[i + s.rank() - rank];
    };
    const auto x = axis_of(a);
    const auto y = axis_of(b);
    if (x == y || y == dim{1})
      dims[i] = x;
    else if (x == dim{1})
      dims[i] = y;
    else if (x.known() && y.known())
      throw error{errc::invalid_graph,
                  "shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast"};
    else if (x.known() || y.known())
      dims[i] = x.known() ? x : y; // the unknown one is 1 or the same
  }
  return partial_shape{std::move(dims)};
}

shape broadcast(const shape& a, const shape& b) {
  return *broadcast(partial_shape{a}, partial_shape{b}).to_shape();
}

dim joined_extent(const partial_shape& s, std::size_t first, std::size_t last) {
  std::int64_t known = 1;
  const dim* unknown = nullptr;
  auto unknowns = 0;
  for (auto i = first; i < last; ++i) {
    if (!s[i].known()) {
      unknown = &s[i];
      ++unknowns;
    } else if (__builtin_mul_overflow(known, s[i].extent(), &known)) {
      return {};
    }
  }
  if (unknowns == 0 || known == 0)
    return known;
  return unknowns == 1 && known == 1 ? *unknown : dim{};
}

partial_shape of_rank(std::size_t rank) {
  if (rank > shape::max_rank)
    throw error{errc::invalid_graph, "rank " + std::to_string(rank) + " is more than the " +
                                         std::to_string(shape::max_rank) + " that are supported"};
  return partial_shape{std::vector<dim>(rank)};
}

std::vector<value_type> same_as_first(const op_view& op) {
  return {op.input(0)};
}

std::vector<value_type> broadcast_all(const op_view& op) {
  auto s = op.shape(0);
  for (std::size_t i = 1; i < op.input_count(); ++i)
    s = broadcast(s, op.shape(i));
  return {value_type{op.element(0), std::move(s)}};
}

std::optional<std::vector<std::int64_t>> integers(const op_view& op, std::size_t i, std::string_view name) {
  if (op.has_input(i))
    return op.constant_integers(i);
  if (const auto* list = op.attributes().find<std::vector<std::int64_t>>(name))
    return *list;
  return std::nullopt;
}

void require_element(const op_view& op, std::size_t i, std::initializer_list<element_type> allowed) {
  const auto t = op.element(i);
  if (t != element_type::undefined && std::find(allowed.begin(), allowed.end(), t) == allowed.end())
    throw error{errc::unsupported,
                "input " + std::to_string(i) + " of type " + std::string{to_string(t)} + " is not supported"};
}

double elements(const value_type& t) {
  if (!t.concrete())
    return 0;
  double n = 1;
  for (const auto& d : t.shape().dims())
    n *= static_cast<double>(d.extent());
  return n;
}

cost_function elementwise_cost(double per_element) {
  return [per_element](const op_view& op, std::span<const value_type> outputs) {
    op_cost cost;
    for (const auto& output : outputs) {
      cost.flops += per_element * elements(output);
      cost.bytes += bytes(output);
    }
    for (std::size_t i = 0; i < op.input_count(); ++i)
      if (op.has_input(i))
        cost.bytes += bytes(op.input(i));
    return cost;
  };
}

cost_function reduction_cost(double per_element) {
  return [per_element, cost_of = elementwise_cost()](const op_view& op, std::span<const value_type> outputs) {
    auto cost = cost_of(op, outputs);
    cost.flops = per_element * elements(op.input(0));
    return cost;
  };
}

} // namespace sluice::ops
