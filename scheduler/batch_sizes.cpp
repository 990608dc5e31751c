// Whole numbers that models calculate from the number of items: shapes on their way into Reshape and Expand.

#include <sluice/scheduler/batch_flow.hpp>

#include <algorithm>
#include <functional>

namespace sluice {

namespace {

using extents = std::vector<batch_extent>;

extents numbers_of(const batch_node& n, std::size_t i) {
  auto numbers = n.numbers(i, {});
  return numbers ? std::move(*numbers) : extents{};
}

extents shape_of(const batch_node& n) {
  const auto& in = n.in(0);
  const auto rank = static_cast<std::int64_t>(n.rank(0));
  const auto clamp = [rank](std::int64_t a) {
    return std::clamp<std::int64_t>(a < 0 ? a + rank : a, 0, rank);
  };
  extents made;
  for (auto a = clamp(n.attribute("start", 0)); a < clamp(n.attribute("end", rank)); ++a) {
    const auto axis = static_cast<std::size_t>(a);
    if (in.batched() && axis == in.axis)
      made.push_back({0, in.rows});
    else if (const auto extent = n.extent(0, axis); extent >= 0)
      made.push_back({extent, 0});
    else
      throw batch_obstacle{"an extent is not known before it runs"};
  }
  return made;
}

batch_extent product(const batch_extent& a, const batch_extent& b) {
  if (a.per_item != 0 && b.per_item != 0)
    throw batch_obstacle{"multiplies the number of items by itself"};
  return {a.fixed * b.fixed, a.fixed * b.per_item + a.per_item * b.fixed};
}

batch_extent quotient(const batch_extent& a, const batch_extent& b) {
  const auto divides = b.per_item == 0 && b.fixed != 0 && a.fixed % b.fixed == 0 && a.per_item % b.fixed == 0;
  if (!divides)
    throw batch_obstacle{"divides the number of items"};
  return {a.fixed / b.fixed, a.per_item / b.fixed};
}

/// Whether two numbers are equal, whatever the number of items.
batch_extent equal(const batch_extent& a, const batch_extent& b) {
  if (a == b)
    return {1, 0};
  // No number of items, at least one, makes them equal if the difference keeps one sign from the first on.
  const auto slope = a.per_item - b.per_item;
  const auto first = a.at(1) - b.at(1);
  if (slope == 0 || (first > 0 && slope > 0) || (first < 0 && slope < 0))
    return {0, 0};
  throw batch_obstacle{"compares the number of items with another number"};
}

template <class F>
extents element_by_element(const batch_node& n, F f) {
  const auto a = numbers_of(n, 0);
  const auto b = numbers_of(n, 1);
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1)
    throw batch_obstacle{"the numbers of two shapes do not fit together"};
  extents made;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
    made.push_back(f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
  return made;
}

extents chosen(const batch_node& n) {
  const auto condition = numbers_of(n, 0);
  const auto yes = numbers_of(n, 1);
  const auto no = numbers_of(n, 2);
  const auto count = std::max({condition.size(), yes.size(), no.size()});
  const auto fits = [count](const extents& e) { return e.size() == count || e.size() == 1; };
  if (!fits(condition) || !fits(yes) || !fits(no))
    throw batch_obstacle{"the numbers of two shapes do not fit together"};
  const auto at = [](const extents& e, std::size_t i) { return e[e.size() == 1 ? 0 : i]; };
  extents made;
  for (std::size_t i = 0; i < count; ++i) {
    if (at(condition, i).per_item != 0)
      throw batch_obstacle{"chooses by the number of items"};
    made.push_back(at(condition, i).fixed != 0 ? at(yes, i) : at(no, i));
  }
  return made;
}

extents gathered(const batch_node& n) {
  const auto from = numbers_of(n, 0);
  extents made;
  for (const auto& index : numbers_of(n, 1)) {
    const auto count = static_cast<std::int64_t>(from.size());
    const auto i = index.fixed < 0 ? index.fixed + count : index.fixed;
    if (index.per_item != 0 || i < 0 || i >= count)
      throw batch_obstacle{"looks up a place that depends on the number of items"};
    made.push_back(from[static_cast<std::size_t>(i)]);
  }
  return made;
}

extents sliced(const batch_node& n) {
  const auto from = numbers_of(n, 0);
  const auto start = n.numbers(1, "starts");
  const auto end = n.numbers(2, "ends");
  const auto step = n.numbers(4, {});
  const auto count = static_cast<std::int64_t>(from.size());
  if (!start || !end || start->size() != 1 || end->size() != 1 || start->front().per_item != 0 ||
      end->front().per_item != 0 || (step && (step->size() != 1 || step->front() != batch_extent{1, 0})))
    throw batch_obstacle{"slices a shape in a way that depends on the number of items"};
  const auto clamp = [count](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + count : i, 0, count);
  };
  const auto first = clamp(start->front().fixed);
  const auto last = std::max(first, clamp(end->front().fixed));
  return {from.begin() + first, from.begin() + last};
}

extents joined(const batch_node& n) {
  extents made;
  for (std::size_t i = 0; i < n.inputs(); ++i) {
    const auto part = numbers_of(n, i);
    made.insert(made.end(), part.begin(), part.end());
  }
  return made;
}

extents multiplied_together(const batch_node& n) {
  batch_extent all{1, 0};
  for (const auto& e : numbers_of(n, 0))
    all = product(all, e);
  return {all};
}

extents size_of_tensor(const batch_node& n) {
  batch_extent all{1, 0};
  for (const auto& e : shape_of(n))
    all = product(all, e);
  return {all};
}

bool gives_whole_numbers(const batch_node& n) {
  const auto t = n.out(0).type.element();
  return t == element_type::int64 || t == element_type::int32 || t == element_type::boolean;
}

} // namespace

std::optional<std::vector<batch_extent>> calculate_sizes(const batch_node& n) {
  const auto& op = n.node().op;
  if (op == "Shape")
    return shape_of(n);
  if (op == "Size")
    return size_of_tensor(n);
  if (op == "Gather")
    return gathered(n);
  if (op == "Slice")
    return sliced(n);
  if (op == "Concat")
    return joined(n);
  if (op == "Mul")
    return element_by_element(n, product);
  if (op == "Div")
    return element_by_element(n, quotient);
  if (op == "Add")
    return element_by_element(n, [](const auto& a, const auto& b) {
      return batch_extent{a.fixed + b.fixed, a.per_item + b.per_item};
    });
  if (op == "Sub")
    return element_by_element(n, [](const auto& a, const auto& b) {
      return batch_extent{a.fixed - b.fixed, a.per_item - b.per_item};
    });
  if (op == "Equal")
    return element_by_element(n, equal);
  if (op == "Not") {
    auto made = numbers_of(n, 0);
    for (auto& e : made)
      e = equal(e, {0, 0});
    return made;
  }
  if (op == "Where")
    return chosen(n);
  if (op == "ReduceProd" && n.rank(0) == 1)
    return multiplied_together(n);
  const auto same =
      op == "Identity" || op == "Unsqueeze" || op == "Squeeze" || op == "Reshape" || op == "Flatten" ||
      (op == "Cast" && gives_whole_numbers(n) && n.out(0).type.element() != element_type::boolean);
  if (same && n.in(0).what == batch_flow::kind::sized)
    return n.in(0).numbers;
  return std::nullopt;
}

} // namespace sluice
