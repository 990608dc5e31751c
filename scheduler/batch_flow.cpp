#include <sluice/scheduler/batch_flow.hpp>

#include <sluice/graph/tensor.hpp>

namespace sluice {

namespace {

std::size_t rank_of(const batch_flow& f) {
  if (!f.type.is_tensor() || !f.type.shape().has_rank())
    throw batch_obstacle{"the shape of a value is not known before it runs"};
  return f.type.shape().rank();
}

} // namespace

std::size_t batch_node::rank(std::size_t i) const {
  return rank_of(in(i));
}

std::size_t batch_node::out_rank(std::size_t i) const {
  return rank_of(out(i));
}

std::int64_t batch_node::extent(std::size_t i, std::size_t axis) const {
  return in(i).type.shape()[axis].extent();
}

std::size_t batch_node::axis_attribute(std::int64_t otherwise, std::size_t rank) const {
  const auto axis = attribute("axis", otherwise);
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

std::optional<std::vector<std::int64_t>> known_numbers(const value& v) {
  constexpr std::int64_t most = 1024; // shapes, axes, indices: more are data
  if (!v.is(value_kind::tensor) || v.tensor().elements() > most)
    return std::nullopt;
  const auto& t = v.tensor();
  const auto widened = [](const auto& elements) {
    std::vector<std::int64_t> numbers;
    for (const auto e : elements)
      numbers.push_back(static_cast<std::int64_t>(e));
    return numbers;
  };
  switch (t.type()) {
  case element_type::int64:
    return widened(t.data<std::int64_t>());
  case element_type::int32:
    return widened(t.data<std::int32_t>());
  case element_type::boolean:
    return widened(t.data<bool>());
  default:
    return std::nullopt;
  }
}

std::optional<std::vector<batch_extent>> batch_node::numbers(std::size_t i, std::string_view name) const {
  const auto fixed = [](const std::vector<std::int64_t>& from) {
    std::vector<batch_extent> numbers;
    for (const auto n : from)
      numbers.push_back({n, 0});
    return numbers;
  };
  if (has(i)) {
    if (in(i).what == batch_flow::kind::sized)
      return in(i).numbers;
    if (const auto known = known_numbers(in(i).known))
      return fixed(*known);
    throw batch_obstacle{"input " + std::to_string(i) + " is not known before it runs"};
  }
  if (const auto* list = node_.attributes.find<std::vector<std::int64_t>>(name))
    return fixed(*list);
  return std::nullopt;
}

void batch_node::expect_shared(std::size_t first, std::size_t last) const {
  for (auto i = first; i < std::min(last, inputs_.size()); ++i)
    if (has(i) && !in(i).shared())
      throw batch_obstacle{"input " + std::to_string(i) +
                           " differs from item to item, and serves all of them"};
}

void batch_node::set_batched(std::size_t output, std::size_t axis, std::int64_t rows) const {
  auto& f = out(output);
  if (axis >= out_rank(output) ||
      (f.type.shape()[axis].known() && f.type.shape()[axis].extent() != rows * batch_probe))
    throw batch_obstacle{"output " + std::to_string(output) + " of type " + to_string(f.type) + " for " +
                         std::to_string(batch_probe) + " items has no axis of the batch"};
  f.what = batch_flow::kind::batched;
  f.axis = axis;
  f.rows = rows;
}

} // namespace sluice
