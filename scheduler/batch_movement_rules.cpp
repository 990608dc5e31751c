// What operators that move elements around mean to the batch.

#include <sluice/scheduler/batch_rules.hpp>

#include <algorithm>

namespace sluice::batch_rules {

namespace {

std::int64_t product(const partial_shape& s, std::size_t first, std::size_t last) {
  std::int64_t all = 1;
  for (auto i = first; i < last; ++i) {
    if (!s[i].known())
      throw batch_obstacle{"the shape of a value is not known before it runs"};
    all *= s[i].extent();
  }
  return all;
}

/// Elements keep their order: the batch is on the axis with as much before it, if what an item has is whole
/// rows of that axis.
void reshape_to(const batch_node& n, const std::vector<bool>& may_be) {
  const auto& in = n.in(0);
  const auto& from = in.type.shape();
  const auto& to = n.out(0).type.shape();
  const auto rank = n.out_rank(0);
  const auto before = product(from, 0, in.axis);
  const auto item = in.rows * product(from, in.axis + 1, from.rank()); // of the elements after `before`
  for (std::size_t a = 0; a < rank; ++a) {
    const auto behind = product(to, a + 1, rank);
    if (!may_be[a] || product(to, 0, a) != before || behind == 0 || item % behind != 0)
      continue;
    if (to[a].extent() == item / behind * batch_probe)
      return n.set_batched(0, a, item / behind);
  }
  throw batch_obstacle{"a reshape from " + to_string(from) + " to " + to_string(to) + " for " +
                       std::to_string(batch_probe) + " items mixes them"};
}

/// An axis whose extent the target fixes is none of the batch.
void reshape(const batch_node& n) {
  n.expect_shared(2);
  const auto target = n.numbers(1, "shape");
  const auto rank = n.out_rank(0);
  if (!target || target->size() != rank)
    throw batch_obstacle{"the target of the reshape is not known before it runs"};
  const auto counts =
      std::any_of(target->begin(), target->end(), [](const auto& t) { return t.per_item != 0; });
  std::vector<bool> may_be;
  for (std::size_t a = 0; a < rank; ++a) {
    const auto& t = (*target)[a];
    const auto copied = t == batch_extent{0, 0} && n.attribute("allowzero", 0) == 0;
    // A -1 takes what is left: all of the batch, unless another axis has it.
    may_be.push_back(counts ? t.per_item != 0 && t.fixed == 0
                            : t == batch_extent{-1, 0} || (copied && a == n.in(0).axis));
  }
  reshape_to(n, may_be);
}

void any_reshape(const batch_node& n) {
  n.expect_shared(1);
  reshape_to(n, std::vector<bool>(n.out_rank(0), true));
}

/// Squeeze without axes takes away what is 1, which the batch may be.
void squeeze(const batch_node& n) {
  n.expect_shared(1);
  const auto axes = n.numbers(1, "axes");
  const auto rank = static_cast<std::int64_t>(n.rank(0));
  auto to = static_cast<std::int64_t>(n.in(0).axis);
  if (!axes)
    throw batch_obstacle{"takes away every axis of extent 1, which a batch of one has, too"};
  for (const auto& a : *axes) {
    const auto axis = a.fixed < 0 ? a.fixed + rank : a.fixed;
    if (axis == static_cast<std::int64_t>(n.in(0).axis))
      throw batch_obstacle{"takes the axis of the batch away"};
    to -= axis < static_cast<std::int64_t>(n.in(0).axis) ? 1 : 0;
  }
  n.set_batched(0, static_cast<std::size_t>(to), n.in(0).rows);
}

void unsqueeze(const batch_node& n) {
  n.expect_shared(1);
  const auto axes = n.numbers(1, "axes");
  const auto rank = n.out_rank(0);
  std::vector<bool> fresh(rank, false);
  if (!axes)
    throw batch_obstacle{"its axes are not known before it runs"};
  for (const auto& a : *axes)
    fresh[static_cast<std::size_t>(a.fixed < 0 ? a.fixed + static_cast<std::int64_t>(rank) : a.fixed)] = true;
  std::size_t old = 0;
  for (std::size_t a = 0; a < rank; ++a)
    if (!fresh[a] && old++ == n.in(0).axis)
      return n.set_batched(0, a, n.in(0).rows);
}

void transpose(const batch_node& n) {
  const auto rank = n.rank(0);
  std::vector<std::int64_t> order;
  for (auto a = rank; a > 0; --a)
    order.push_back(static_cast<std::int64_t>(a - 1));
  order = n.node().attributes.get<std::vector<std::int64_t>>("perm", order);
  for (std::size_t a = 0; a < order.size(); ++a)
    if (order[a] == static_cast<std::int64_t>(n.in(0).axis))
      return n.set_batched(0, a, n.in(0).rows);
}

bool is_all(const batch_extent& start, const batch_extent& end, std::int64_t rows) {
  constexpr std::int64_t huge = 1'000'000'000; // what exporters write for "to the end", or more
  return start == batch_extent{0, 0} &&
         ((end.per_item == 0 && end.fixed >= huge) || end == batch_extent{0, rows});
}

void slice(const batch_node& n) {
  n.expect_shared(5);
  const auto& in = n.in(0);
  const auto rank = static_cast<std::int64_t>(n.rank(0));
  const auto starts = n.numbers(1, "starts");
  const auto ends = n.numbers(2, "ends");
  const auto axes = n.numbers(3, "axes");
  const auto steps = n.numbers(4, {});
  if (!starts || !ends || ends->size() != starts->size() || (axes && axes->size() != starts->size()) ||
      (steps && steps->size() != starts->size()))
    throw batch_obstacle{"where it slices is not known before it runs"};
  for (std::size_t i = 0; i < starts->size(); ++i) {
    auto axis = axes ? (*axes)[i].fixed : static_cast<std::int64_t>(i);
    axis += axis < 0 ? rank : 0;
    const auto whole =
        is_all((*starts)[i], (*ends)[i], in.rows) && (!steps || (*steps)[i] == batch_extent{1, 0});
    if (axis == static_cast<std::int64_t>(in.axis) && !whole)
      throw batch_obstacle{"takes some items of the batch"};
    if (axis != static_cast<std::int64_t>(in.axis) &&
        ((*starts)[i].per_item != 0 || (*ends)[i].per_item != 0))
      throw batch_obstacle{"slices another axis by the number of items"};
  }
  n.set_batched(0, in.axis, in.rows);
}

void split(const batch_node& n) {
  n.expect_shared(1);
  if (n.axis_attribute(0, n.rank(0)) == n.in(0).axis)
    throw batch_obstacle{"splits the batch"};
  n.set_all_batched(n.in(0).axis, n.in(0).rows);
}

void concat(const batch_node& n) {
  const auto& first = n.in(0);
  for (std::size_t i = 0; i < n.inputs(); ++i)
    if (!n.in(i).batched())
      throw batch_obstacle{"input " + std::to_string(i) +
                           " is the same for all items, and is not repeated for each"};
    else if (n.in(i).axis != first.axis || n.in(i).rows != first.rows)
      throw batch_obstacle{"its inputs have the batch on different axes"};
  if (n.axis_attribute(1, n.rank(0)) == first.axis)
    throw batch_obstacle{"joins values along the axis of the batch"};
  n.set_batched(0, first.axis, first.rows);
}

void pad(const batch_node& n) {
  n.expect_shared(1);
  const auto rank = n.rank(0);
  const auto pads = n.numbers(1, n.node().attributes.has("pads") ? "pads" : "paddings");
  std::vector<std::size_t> padded(rank);
  for (std::size_t a = 0; a < rank; ++a)
    padded[a] = a;
  if (n.has(3)) {
    padded.clear();
    const auto axes = n.numbers(3, {});
    for (const auto& a : *axes)
      padded.push_back(
          static_cast<std::size_t>(a.fixed < 0 ? a.fixed + static_cast<std::int64_t>(rank) : a.fixed));
  }
  if (!pads || pads->size() != 2 * padded.size())
    throw batch_obstacle{"its padding is not known before it runs"};
  for (std::size_t i = 0; i < padded.size(); ++i)
    if (padded[i] == n.in(0).axis &&
        ((*pads)[i] != batch_extent{0, 0} || (*pads)[i + padded.size()] != batch_extent{0, 0}))
      throw batch_obstacle{"pads the batch"};
  n.set_batched(0, n.in(0).axis, n.in(0).rows);
}

/// Of a shape that is given as numbers: where the items' number comes in from a shared value.
void repeat_shared(const batch_node& n, const std::vector<batch_extent>& target) {
  const auto rank = n.out_rank(0);
  const auto extra = rank - n.rank(0);
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i].per_item == 0)
      continue;
    const auto axis = rank - target.size() + i;
    if (target[i].fixed != 0 || (axis >= extra && n.extent(0, axis - extra) != 1))
      throw batch_obstacle{"repeats a value by the number of items"};
    return n.set_batched(0, axis, target[i].per_item);
  }
}

void expand(const batch_node& n) {
  const auto target = n.numbers(1, {});
  if (!target)
    throw batch_obstacle{"its target is not known before it runs"};
  const auto& in = n.in(0);
  if (!in.batched())
    return repeat_shared(n, *target);
  const auto from_right = n.rank(0) - in.axis;
  for (std::size_t i = 0; i < target->size(); ++i) {
    const auto& t = (*target)[i];
    const auto on_batch = target->size() - i == from_right;
    if (on_batch ? t != batch_extent{1, 0} && t != batch_extent{0, in.rows} : t.per_item != 0)
      throw batch_obstacle{"expands the batch"};
  }
  n.set_batched(0, n.out_rank(0) - from_right, in.rows);
}

void tile(const batch_node& n) {
  const auto repeats = n.numbers(1, {});
  if (!repeats || repeats->size() != n.rank(0))
    throw batch_obstacle{"its repeats are not known before it runs"};
  if (!n.in(0).batched())
    return repeat_shared(n, *repeats);
  for (std::size_t i = 0; i < repeats->size(); ++i)
    if ((*repeats)[i].per_item != 0 || (i == n.in(0).axis && (*repeats)[i] != batch_extent{1, 0}))
      throw batch_obstacle{"repeats the batch"};
  n.set_batched(0, n.in(0).axis, n.in(0).rows);
}

void constant_of_shape(const batch_node& n) {
  const auto target = n.numbers(0, {});
  for (std::size_t a = 0; a < target->size(); ++a) {
    if ((*target)[a].per_item == 0)
      continue;
    if ((*target)[a].fixed != 0)
      throw batch_obstacle{"makes a value whose extent is no multiple of the number of items"};
    return n.set_batched(0, a, (*target)[a].per_item);
  }
}

void gather(const batch_node& n) {
  const auto axis = n.axis_attribute(0, n.rank(0));
  if (n.in(0).shared() && n.in(1).batched())
    return n.set_batched(0, axis + n.in(1).axis, n.in(1).rows);
  n.expect_shared(1);
  const auto& in = n.in(0);
  if (axis == in.axis)
    throw batch_obstacle{"picks items out of the batch"};
  n.set_batched(0, in.axis < axis ? in.axis : in.axis + n.rank(1) - 1, in.rows);
}

/// Each index stays in its own row of every axis but one.
void along_axis(const batch_node& n) {
  const auto axis = n.axis_attribute(0, n.rank(0));
  const auto& first = n.in(0).batched() ? n.in(0) : n.in(1);
  for (std::size_t i = 0; i < n.inputs(); ++i)
    if (!n.in(i).batched() || n.in(i).axis != first.axis || n.in(i).rows != first.rows)
      throw batch_obstacle{"some of its inputs have no batch on the same axis"};
  if (axis == first.axis)
    throw batch_obstacle{"looks up items of the batch"};
  n.set_batched(0, first.axis, first.rows);
}

void gather_nd(const batch_node& n) {
  const auto batch_dims = static_cast<std::size_t>(n.attribute("batch_dims", 0));
  const auto& indices = n.in(1);
  if (n.in(0).shared() && indices.batched() && indices.axis + 1 < n.rank(1) && indices.axis >= batch_dims)
    return n.set_batched(0, indices.axis, indices.rows);
  if (!n.in(0).batched() || !indices.batched() || n.in(0).axis != indices.axis ||
      indices.axis >= batch_dims || n.in(0).rows != indices.rows)
    throw batch_obstacle{"looks up items of the batch"};
  n.set_batched(0, indices.axis, indices.rows);
}

void one_hot(const batch_node& n) {
  n.expect_shared(1);
  const auto axis = n.axis_attribute(-1, n.out_rank(0));
  n.set_batched(0, n.in(0).axis < axis ? n.in(0).axis : n.in(0).axis + 1, n.in(0).rows);
}

void triangle(const batch_node& n) {
  n.expect_shared(1);
  if (n.in(0).axis + 2 >= n.rank(0))
    throw batch_obstacle{"the batch lies on an axis of the triangle"};
  n.set_batched(0, n.in(0).axis, n.in(0).rows);
}

void reverse_sequence(const batch_node& n) {
  const auto batch = static_cast<std::size_t>(n.attribute("batch_axis", 1));
  const auto time = static_cast<std::size_t>(n.attribute("time_axis", 0));
  const auto& in = n.in(0);
  if (!in.batched() || in.axis == time ||
      (n.in(1).batched() && (in.axis != batch || n.in(1).rows != in.rows)) ||
      (in.axis == batch && !n.in(1).batched()))
    throw batch_obstacle{"reverses the batch"};
  n.set_batched(0, in.axis, in.rows);
}

} // namespace

const table& movement() {
  static const table rules{{"Reshape", reshape},
                           {"Flatten", any_reshape},
                           {"Squeeze", squeeze},
                           {"Unsqueeze", unsqueeze},
                           {"Transpose", transpose},
                           {"Slice", slice},
                           {"Split", split},
                           {"Concat", concat},
                           {"Pad", pad},
                           {"Expand", expand},
                           {"Tile", tile},
                           {"ConstantOfShape", constant_of_shape},
                           {"Gather", gather},
                           {"GatherElements", along_axis},
                           {"ScatterElements", along_axis},
                           {"Scatter", along_axis},
                           {"GatherND", gather_nd},
                           {"OneHot", one_hot},
                           {"Trilu", triangle},
                           {"ReverseSequence", reverse_sequence}};
  return rules;
}

} // namespace sluice::batch_rules

namespace sluice {

std::optional<std::vector<std::int64_t>>
grown_reshape_target(const batch_flow& from, const std::vector<std::int64_t>& target, bool allow_zero) {
  const auto& s = from.type.shape();
  std::int64_t before = 1;
  for (std::size_t a = 0; a < from.axis; ++a)
    before *= s[a].extent();
  std::int64_t item = from.rows;
  for (auto a = from.axis + 1; a < s.rank(); ++a)
    item *= s[a].extent();
  // What each axis has in a batch of one.
  auto extents = target;
  std::int64_t given = 1;
  for (std::size_t a = 0; a < target.size(); ++a) {
    if (target[a] == 0 && !allow_zero && a < s.rank())
      extents[a] = a == from.axis ? from.rows : s[a].extent();
    given *= extents[a] == -1 ? 1 : extents[a];
  }
  const auto inferred = std::find(target.begin(), target.end(), -1);
  if (inferred != target.end() && given > 0)
    extents[static_cast<std::size_t>(inferred - target.begin())] = before * item / given;
  std::int64_t passed = 1;
  for (std::size_t a = 0; a < target.size(); ++a) {
    if (passed == before && target[a] == 1) {
      auto grown = target;
      if (inferred != target.end())
        grown[static_cast<std::size_t>(inferred - target.begin())] =
            extents[static_cast<std::size_t>(inferred - target.begin())];
      grown[a] = -1;
      return grown;
    }
    passed *= extents[a];
  }
  return std::nullopt;
}

} // namespace sluice
