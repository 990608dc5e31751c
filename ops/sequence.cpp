#include <sluice/graph/collections.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>

namespace sluice::ops {

namespace {

/// Where in a sequence of n items: -1 is the last; n itself only where an item can be put behind all.
std::size_t position_of(const kernel_context& ctx, std::size_t input, std::size_t n, bool end_allowed) {
  const auto given = integers_of(ctx.input(input));
  const auto count = static_cast<std::int64_t>(n);
  if (given.size() != 1)
    throw error{errc::kernel_failed, "a position is one number, not " + std::to_string(given.size())};
  if (given[0] < -count || given[0] > (end_allowed ? count : count - 1))
    throw error{errc::kernel_failed,
                "position " + std::to_string(given[0]) + " is not in a sequence of " + std::to_string(n)};
  return static_cast<std::size_t>(given[0] < 0 ? given[0] + count : given[0]);
}

/// The type of the items of input i as far as it is known.
value_type item_type(const op_view& op, std::size_t i) {
  return op.input(i).is(value_kind::sequence) ? op.input(i).inner() : value_type{};
}

/// What two items of a sequence have in common.
value_type common_type(const value_type& a, const value_type& b) {
  if (!a.is_tensor() || !b.is_tensor() || a.element() != b.element())
    return a.is_tensor() && b.is_tensor() ? value_type{} : a;
  if (!a.shape().has_rank() || !b.shape().has_rank() || a.shape().rank() != b.shape().rank())
    return {a.element(), {}};
  auto s = a.shape();
  for (std::size_t i = 0; i < s.rank(); ++i)
    if (!(s[i] == b.shape()[i]))
      s[i] = {};
  return {a.element(), std::move(s)};
}

/// Items of the type of their first, of any shape.
value_type sequence_of_any_shape(element_type element) {
  return value_type::sequence_of({element, {}});
}

std::vector<value_type> infer_construct(const op_view& op) {
  auto item = op.input(0);
  for (std::size_t i = 1; i < op.input_count(); ++i)
    item = common_type(item, op.input(i));
  return {value_type::sequence_of(std::move(item))};
}

void construct(kernel_context& ctx) {
  std::vector<value> items;
  for (std::size_t i = 0; i < ctx.input_count(); ++i) {
    if (ctx.input(i).type() != ctx.input(0).type())
      throw error{errc::kernel_failed, describe(ctx.input_value(i)) + " in a sequence of " +
                                           std::string{to_string(ctx.input(0).type())}};
    items.push_back(ctx.input_value(i));
  }
  ctx.set_output(0, sequence::make(std::move(items)));
}

std::vector<value_type> infer_empty(const op_view& op) {
  return {sequence_of_any_shape(static_cast<element_type>(op.attributes().get<std::int64_t>("dtype", 1)))};
}

void empty_sequence(kernel_context& ctx) {
  ctx.set_output(0, sequence::make({}));
}

std::vector<value_type> infer_at(const op_view& op) {
  return {item_type(op, 0)};
}

void at(kernel_context& ctx) {
  const auto& items = ctx.input_value(0).sequence().items;
  ctx.set_output(0, items[position_of(ctx, 1, items.size(), false)]);
}

std::vector<value_type> infer_insert(const op_view& op) {
  const auto item = item_type(op, 0);
  return {value_type::sequence_of(item.known() ? common_type(item, op.input(1)) : value_type{})};
}

void insert(kernel_context& ctx) {
  auto items = ctx.input_value(0).sequence().items;
  if (!items.empty() && items.front().tensor().type() != ctx.input(1).type())
    throw error{errc::kernel_failed,
                describe(ctx.input_value(1)) + " cannot join a sequence of " + describe(items.front())};
  const auto where = ctx.has_input(2) ? position_of(ctx, 2, items.size(), true) : items.size();
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(where), ctx.input_value(1));
  ctx.set_output(0, sequence::make(std::move(items)));
}

void erase(kernel_context& ctx) {
  auto items = ctx.input_value(0).sequence().items;
  if (items.empty())
    throw error{errc::kernel_failed, "an empty sequence has nothing to erase"};
  const auto where = ctx.has_input(1) ? position_of(ctx, 1, items.size(), false) : items.size() - 1;
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(where));
  ctx.set_output(0, sequence::make(std::move(items)));
}

std::vector<value_type> infer_length(const op_view&) {
  return {{element_type::int64, partial_shape{shape{}}}};
}

void length(kernel_context& ctx) {
  const auto n = ctx.input_value(0).sequence().items.size();
  ctx.output(0, element_type::int64, {}).data<std::int64_t>()[0] = static_cast<std::int64_t>(n);
}

// SplitToSequence and ConcatFromSequence

std::vector<value_type> infer_split_to_sequence(const op_view& op) {
  return {sequence_of_any_shape(op.element(0))};
}

/// The part of `whole` from `first` to `first + count` on an axis.
value part_of(const kernel_context& ctx, const value& whole, std::size_t axis, std::int64_t first,
              std::int64_t count) {
  const auto& in = whole.tensor();
  const auto& s = in.shape();
  auto part = tensor::make(in.type(), s.with(axis, count), ctx.allocator());
  const auto inner = s.product(axis + 1, s.rank());
  strided_copy copy;
  copy.axis(s.product(0, axis), s[axis] * inner, count * inner);
  copy.axis(count * inner, 1, 1);
  copy.run(ctx, in.type(), element_at(in.type(), in.raw(), first * inner), part->raw());
  return part;
}

kernel_entry split_to_sequence_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([axis_given = r.op.attributes().get<std::int64_t>("axis", 0),
                        keep = r.op.attributes().get<std::int64_t>("keepdims", 1) != 0](kernel_context& ctx) {
      const auto& whole = ctx.input_value(0);
      const auto& s = ctx.input(0).shape();
      const auto axis = axis_of(axis_given, s.rank());
      std::vector<std::int64_t> extents(static_cast<std::size_t>(s[axis]), 1);
      if (ctx.has_input(1)) {
        extents = integers_of(ctx.input(1));
        if (ctx.input(1).shape().rank() == 0) { // equal parts, the last may be smaller
          const auto part = extents[0];
          if (part < 1)
            throw error{errc::kernel_failed, "parts of " + std::to_string(part) + " elements"};
          extents.clear();
          for (auto left = s[axis]; left > 0; left -= part)
            extents.push_back(std::min(part, left));
        }
      }
      const auto squeeze = !ctx.has_input(1) && !keep;
      std::vector<value> items;
      std::int64_t first = 0;
      for (const auto extent : extents) {
        if (extent < 0 || extent > s[axis] - first)
          throw error{errc::kernel_failed, "the parts do not make up an axis of " + std::to_string(s[axis])};
        auto item = part_of(ctx, whole, axis, first, extent);
        first += extent;
        if (squeeze) {
          axis_list rest{s.begin(), s.end()};
          rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
          item = tensor::reshaped(item, shape_of(rest));
        }
        items.push_back(std::move(item));
      }
      if (first != s[axis])
        throw error{errc::kernel_failed, "the parts do not make up an axis of " + std::to_string(s[axis])};
      ctx.set_output(0, sequence::make(std::move(items)));
    });
  }};
}

std::vector<value_type> infer_concat_from_sequence(const op_view& op) {
  const auto item = item_type(op, 0);
  const auto fresh = op.attributes().get<std::int64_t>("new_axis", 0) != 0;
  if (!item.is_tensor() || !item.shape().has_rank())
    return {{item.element(), {}}};
  auto dims = item.shape().dims();
  const auto axis = normalize_axis(op.attributes().get<std::int64_t>("axis"), dims.size() + (fresh ? 1 : 0));
  if (fresh)
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), dim{});
  else
    dims[axis] = {};
  return {{item.element(), partial_shape{std::move(dims)}}};
}

kernel_entry concat_from_sequence_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel(
        [axis_given = r.op.attributes().get<std::int64_t>("axis"),
         fresh = r.op.attributes().get<std::int64_t>("new_axis", 0) != 0](kernel_context& ctx) {
          const auto& items = ctx.input_value(0).sequence().items;
          if (items.empty())
            throw error{errc::kernel_failed, "an empty sequence cannot be joined"};
          const auto& head = items.front().tensor();
          const auto axis = axis_of(axis_given, head.shape().rank() + (fresh ? 1 : 0));
          std::int64_t extent = 0;
          for (const auto& item : items) {
            const auto& t = item.tensor();
            const auto fits =
                t.type() == head.type() && t.shape().rank() == head.shape().rank() &&
                (fresh ? t.shape() == head.shape() : t.shape().with(axis, 0) == head.shape().with(axis, 0));
            if (!fits)
              throw error{errc::kernel_failed,
                          describe(item) + " cannot be joined with " + describe(items.front())};
            extent += fresh ? 1 : t.shape()[axis];
          }
          std::vector<std::int64_t> extents{head.shape().begin(), head.shape().end()};
          if (fresh)
            extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(axis), extent);
          else
            extents[axis] = extent;
          const shape target{extents};
          auto& out = ctx.output(0, head.type(), target);
          const auto outer = target.product(0, axis);
          const auto inner = target.product(axis + 1, target.rank());
          std::int64_t before = 0;
          for (const auto& item : items) {
            const auto& t = item.tensor();
            const auto run = (fresh ? 1 : t.shape()[axis]) * inner;
            strided_copy copy;
            copy.axis(outer, run, extent * inner);
            copy.axis(run, 1, 1);
            copy.run(ctx, t.type(), t.raw(), element_at(t.type(), out.raw(), before));
            before += run;
          }
        });
  }};
}

// Optional

std::vector<value_type> infer_optional(const op_view& op) {
  if (op.has_input(0))
    return {value_type::optional_of(op.input(0))};
  return {value_type::optional_of(op.attributes().get<value_type>("type", value_type{}))};
}

void make_optional(kernel_context& ctx) {
  ctx.set_output(0, optional_value::make(ctx.has_input(0) ? ctx.input_value(0) : value{}));
}

/// From opset 18 on a value that is not optional counts as one that is there.
const value& content_of(const kernel_context& ctx) {
  const auto& v = ctx.input_value(0);
  return v.is(value_kind::optional) ? v.optional().content : v;
}

std::vector<value_type> infer_has_element(const op_view&) {
  return {{element_type::boolean, partial_shape{shape{}}}};
}

void has_element(kernel_context& ctx) {
  ctx.output(0, element_type::boolean, {}).data<bool>()[0] = ctx.has_input(0) && !content_of(ctx).empty();
}

std::vector<value_type> infer_get_element(const op_view& op) {
  return {op.input(0).is(value_kind::optional) ? op.input(0).inner() : op.input(0)};
}

void get_element(kernel_context& ctx) {
  const auto& content = content_of(ctx);
  if (content.empty())
    throw error{errc::kernel_failed, "the optional value is absent"};
  ctx.set_output(0, content);
}

} // namespace

void register_sequence(operator_library& lib) {
  lib.add({.name = "SequenceConstruct",
           .since_opset = 11,
           .max_inputs = op_schema::variadic,
           .infer = infer_construct},
          plain_kernel(construct));
  lib.add(
      {.name = "SequenceEmpty", .since_opset = 11, .min_inputs = 0, .max_inputs = 0, .infer = infer_empty},
      plain_kernel(empty_sequence));
  lib.add({.name = "SequenceAt", .since_opset = 11, .min_inputs = 2, .max_inputs = 2, .infer = infer_at},
          plain_kernel(at));
  lib.add(
      {.name = "SequenceInsert", .since_opset = 11, .min_inputs = 2, .max_inputs = 3, .infer = infer_insert},
      plain_kernel(insert));
  lib.add({.name = "SequenceErase", .since_opset = 11, .max_inputs = 2, .infer = same_as_first},
          plain_kernel(erase));
  lib.add({.name = "SequenceLength", .since_opset = 11, .infer = infer_length}, plain_kernel(length));
  lib.add({.name = "SplitToSequence", .since_opset = 11, .max_inputs = 2, .infer = infer_split_to_sequence},
          split_to_sequence_kernel());
  lib.add({.name = "ConcatFromSequence", .since_opset = 11, .infer = infer_concat_from_sequence},
          concat_from_sequence_kernel());
  lib.add({.name = "Optional", .since_opset = 15, .min_inputs = 0, .infer = infer_optional},
          plain_kernel(make_optional));
  lib.add({.name = "OptionalHasElement", .since_opset = 15, .min_inputs = 0, .infer = infer_has_element},
          plain_kernel(has_element));
  lib.add({.name = "OptionalGetElement", .since_opset = 15, .infer = infer_get_element},
          plain_kernel(get_element));
}

} // namespace sluice::ops
