#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>
#include <limits>

namespace sluice::ops {

namespace {

using integer_list = std::vector<std::int64_t>;

constexpr auto highest = std::numeric_limits<std::int64_t>::max();

/// Elements start, start + step, … of an axis, `count` of them.
struct range {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// What Python's `[start:end:step]` takes of an axis of `extent`.
range taken(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  if (step == 0)
    throw error{errc::kernel_failed, "a slice with step 0"};
  step = std::max(step, -highest);
  const auto from_front = [extent](std::int64_t i) { return i < 0 ? i + extent : i; };
  const std::int64_t first = step > 0 ? 0 : -1; // where start and end may lie: a walk backwards ends before 0
  const auto last = extent + first;
  start = std::clamp<std::int64_t>(from_front(start), 0, std::max<std::int64_t>(0, last));
  end = std::clamp(from_front(end), first, last);
  const auto distance = step > 0 ? end - start : start - end;
  const auto stride = step > 0 ? step : -step;
  return {start, step, extent == 0 || distance <= 0 ? 0 : (distance - 1) / stride + 1};
}

void require_equal_lengths(std::size_t starts, std::size_t other, const char* what) {
  if (starts != other)
    throw error{errc::kernel_failed,
                std::to_string(starts) + " starts with " + std::to_string(other) + ' ' + what};
}

/// The axes that the bounds are for: as given, the first ones by default. Throws if one stands twice.
std::vector<std::size_t> sliced_axes(const integer_list* given, std::size_t starts, std::size_t rank) {
  std::vector<std::size_t> axes;
  if (given)
    require_equal_lengths(starts, given->size(), "axes");
  for (std::size_t i = 0; i < starts; ++i) {
    const auto axis = axis_of(given ? (*given)[i] : static_cast<std::int64_t>(i), rank);
    if (std::find(axes.begin(), axes.end(), axis) != axes.end())
      throw error{errc::kernel_failed, "axis " + std::to_string(axis) + " is sliced twice"};
    axes.push_back(axis);
  }
  return axes;
}

std::vector<value_type> infer_slice(const op_view& op) {
  auto s = op.shape(0);
  if (!s.has_rank())
    return {{op.element(0), {}}};
  const auto starts = integers(op, 1, "starts");
  const auto ends = integers(op, 2, "ends");
  const auto axes = integers(op, 3, "axes");
  const auto steps = integers(op, 4, "steps");
  const auto bounds =
      op.has_input(1) && op.shape(1).has_rank() && op.shape(1).rank() == 1 ? op.shape(1)[0] : dim{};
  auto count = axes             ? axes->size()
               : starts         ? starts->size()
               : bounds.known() ? static_cast<std::size_t>(bounds.extent())
                                : s.rank();
  if ((op.has_input(3) && !axes) || (!axes && !starts && !bounds.known()))
    return {{op.element(0), of_rank(s.rank())}};
  const auto chosen = sliced_axes(axes ? &*axes : nullptr, count, s.rank());
  if (starts)
    require_equal_lengths(starts->size(), count, "axes");
  if (starts && ends)
    require_equal_lengths(starts->size(), ends->size(), "ends");
  if (starts && steps)
    require_equal_lengths(starts->size(), steps->size(), "steps");
  for (std::size_t i = 0; i < count; ++i) {
    auto& d = s[chosen[i]];
    if (!starts || !ends || (op.has_input(4) && !steps)) {
      d = {};
      continue;
    }
    const auto step = steps ? (*steps)[i] : 1;
    const auto whole =
        (step == 1 && (*starts)[i] == 0 && (*ends)[i] >= std::numeric_limits<std::int32_t>::max()) ||
        (step == -1 && (*starts)[i] == -1 && (*ends)[i] <= std::numeric_limits<std::int32_t>::min());
    if (d.known())
      d = taken((*starts)[i], (*ends)[i], step, d.extent()).count;
    else if (!whole)
      d = {};
  }
  return {{op.element(0), std::move(s)}};
}

/// Whether the box is one run of the input's elements, so that a view serves. A small one is copied: a view
/// keeps all of the input alive.
bool is_run(const shape& s, std::span<const range> ranges, std::size_t bytes) {
  constexpr std::size_t small = 1024;
  if (bytes < small)
    return false;
  std::size_t axis = 0;
  while (axis < s.rank() && ranges[axis].count == 1)
    ++axis;
  if (axis < s.rank() && ranges[axis].step != 1)
    return false;
  for (++axis; axis < s.rank(); ++axis)
    if (ranges[axis].count != s[axis] || ranges[axis].step != 1)
      return false;
  return true;
}

void slice(kernel_context& ctx, std::span<const range> ranges) {
  const auto& in = ctx.input(0);
  const auto& s = in.shape();
  axis_list extents;
  for (const auto& r : ranges)
    extents.push_back(r.count);
  const auto target = shape_of(extents);
  const auto strides = strides_of(s);
  const auto targets = strides_of(target);
  std::int64_t first = 0;
  strided_copy copy;
  for (std::size_t i = 0; i < s.rank(); ++i) {
    first += ranges[i].start * strides[i];
    copy.axis(ranges[i].count, ranges[i].count > 1 ? ranges[i].step * strides[i] : 0, targets[i]);
  }
  const auto n = target.elements();
  if (n > 0 && s.rank() > 0 && is_run(s, ranges, static_cast<std::size_t>(n) * size_of(in.type()))) {
    const auto flat = tensor::reshaped(ctx.input_value(0), {s.elements()});
    ctx.set_output(0, tensor::reshaped(tensor::rows(flat, first, n), target));
    return;
  }
  auto& out = ctx.output(0, in.type(), target);
  if (n > 0)
    copy.run(ctx, in.type(), element_at(in.type(), in.raw(), first), out.raw());
}

kernel_entry slice_kernel() {
  return {[](const kernel_request& r) {
    const auto& a = r.op.attributes();
    const auto has_axes = a.has("axes") || r.op.has_input(3);
    return make_kernel([has_axes, given_starts = a.get<integer_list>("starts", {}),
                        given_ends = a.get<integer_list>("ends", {}),
                        given_axes = a.get<integer_list>("axes", {})](kernel_context& ctx) {
      const auto& s = ctx.input(0).shape();
      const auto starts = integers_of(ctx, 1, given_starts);
      const auto ends = integers_of(ctx, 2, given_ends);
      const auto axes = integers_of(ctx, 3, given_axes);
      const auto steps = integers_of(ctx, 4, integer_list(starts.size(), 1));
      require_equal_lengths(starts.size(), ends.size(), "ends");
      require_equal_lengths(starts.size(), steps.size(), "steps");
      const auto chosen = sliced_axes(has_axes ? &axes : nullptr, starts.size(), s.rank());
      std::array<range, shape::max_rank> ranges;
      for (std::size_t i = 0; i < s.rank(); ++i)
        ranges[i].count = s[i];
      for (std::size_t i = 0; i < chosen.size(); ++i)
        ranges[chosen[i]] = taken(starts[i], ends[i], steps[i], s[chosen[i]]);
      slice(ctx, {ranges.data(), s.rank()});
    });
  }};
}

} // namespace

void register_slice(operator_library& lib) {
  lib.add({.name = "Slice", .infer = infer_slice, .cost = elementwise_cost(), .aliases = {{0, 0, true}}},
          slice_kernel());
  lib.add({.name = "Slice",
           .since_opset = 10,
           .min_inputs = 3,
           .max_inputs = 5,
           .infer = infer_slice,
           .cost = elementwise_cost(),
           .aliases = {{0, 0, true}}},
          slice_kernel());
}

} // namespace sluice::ops
