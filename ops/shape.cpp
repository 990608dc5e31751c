#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>

namespace sluice::ops {

namespace {

using integer_list = std::vector<std::int64_t>;

// Reshape

[[noreturn]] void cannot_reshape(const std::string& from, std::span<const std::int64_t> target) {
  std::string text;
  for (const auto t : target)
    text += (text.empty() ? "" : ", ") + std::to_string(t);
  throw error{errc::kernel_failed, "a tensor of shape " + from + " cannot be reshaped to [" + text + ']'};
}

shape reshaped(const shape& from, const integer_list& target, bool allow_zero) {
  axis_list extents;
  auto inferred = target.size();
  if (target.size() > shape::max_rank)
    cannot_reshape(to_string(from), target);
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto copied = target[i] == 0 && !allow_zero;
    if (target[i] < -1 || (copied && i >= from.rank()) || (target[i] == -1 && inferred != target.size()))
      cannot_reshape(to_string(from), target);
    if (target[i] == -1)
      inferred = i;
    extents.push_back(target[i] == -1 ? 1 : copied ? from[i] : target[i]);
  }
  const auto rest = shape_of(extents);
  const auto n = from.elements();
  const auto m = rest.elements();
  if (inferred == target.size() ? n != m : m == 0 || n % m != 0)
    cannot_reshape(to_string(from), target);
  return inferred == target.size() ? rest : rest.with(inferred, n / m);
}

/// What a -1 stands for: what the axes that no 0 copies leave, divided by the extents that are given.
dim inferred_extent(const partial_shape& from, const integer_list& target, bool allow_zero) {
  if (!from.has_rank())
    return {};
  std::vector<dim> left;
  for (std::size_t i = 0; i < from.rank(); ++i)
    if (allow_zero || i >= target.size() || target[i] != 0)
      left.push_back(from[i]);
  std::int64_t given = 1;
  for (const auto t : target)
    if ((t > 0 || allow_zero) && t != -1 && __builtin_mul_overflow(given, t, &given))
      return {};
  std::int64_t known = 1;
  std::vector<dim> unknown;
  for (auto& d : left) {
    if (!d.known())
      unknown.push_back(d);
    else if (__builtin_mul_overflow(known, d.extent(), &known))
      return {};
  }
  if (unknown.size() == 1 && known == given && given != 0)
    return unknown.front();
  if (unknown.empty() && given != 0) {
    if (known % given != 0)
      cannot_reshape(to_string(from), target);
    return known / given;
  }
  return {};
}

std::vector<value_type> infer_reshape(const op_view& op) {
  const auto target = integers(op, 1, "shape");
  if (!target) {
    const auto rank =
        op.has_input(1) && op.shape(1).has_rank() && op.shape(1).rank() == 1 ? op.shape(1)[0] : dim{};
    return {
        {op.element(0), rank.known() ? of_rank(static_cast<std::size_t>(rank.extent())) : partial_shape{}}};
  }
  const auto allow_zero = op.attributes().get<std::int64_t>("allowzero", 0) != 0;
  if (const auto known = op.shape(0).to_shape())
    return {{op.element(0), reshaped(*known, *target, allow_zero)}};
  std::vector<dim> dims;
  for (std::size_t i = 0; i < target->size(); ++i) {
    const auto t = (*target)[i];
    if (t < -1)
      cannot_reshape(to_string(op.shape(0)), *target);
    if (t == -1)
      dims.push_back(inferred_extent(op.shape(0), *target, allow_zero));
    else if (t == 0 && !allow_zero)
      dims.push_back(op.shape(0).has_rank() && i < op.shape(0).rank() ? op.shape(0)[i] : dim{});
    else
      dims.push_back(t);
  }
  return {{op.element(0), partial_shape{std::move(dims)}}};
}

kernel_entry reshape_kernel() {
  return {[](const kernel_request& r) {
    const auto allow_zero = r.op.attributes().get<std::int64_t>("allowzero", 0) != 0;
    return make_kernel(
        [allow_zero, target = r.op.attributes().get<integer_list>("shape", {})](kernel_context& ctx) {
          ctx.set_output(
              0, tensor::reshaped(ctx.input_value(0),
                                  reshaped(ctx.input(0).shape(), integers_of(ctx, 1, target), allow_zero)));
        });
  }};
}

// Flatten

std::vector<value_type> infer_flatten(const op_view& op) {
  const auto& s = op.shape(0);
  if (!s.has_rank())
    return {{op.element(0), of_rank(2)}};
  const auto axis = normalize_axis(op.attributes().get<std::int64_t>("axis", 1), s.rank(), true);
  return {{op.element(0), partial_shape{joined_extent(s, 0, axis), joined_extent(s, axis, s.rank())}}};
}

kernel_entry flatten_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([axis = r.op.attributes().get<std::int64_t>("axis", 1)](kernel_context& ctx) {
      const auto& s = ctx.input(0).shape();
      const auto a = normalize_axis(axis, s.rank(), true);
      ctx.set_output(0, tensor::reshaped(ctx.input_value(0), {s.product(0, a), s.product(a, s.rank())}));
    });
  }};
}

// Squeeze and Unsqueeze

/// Which of `rank` axes are named. Throws if one is out of range or named twice.
std::vector<bool> marked(const integer_list& axes, std::size_t rank) {
  std::vector<bool> mark(rank);
  for (const auto axis : axes) {
    const auto a = axis_of(axis, rank);
    if (mark[a])
      throw error{errc::kernel_failed, "axis " + std::to_string(axis) + " is named twice"};
    mark[a] = true;
  }
  return mark;
}

[[noreturn]] void cannot_squeeze(std::size_t axis, const std::string& s) {
  throw error{errc::kernel_failed, "axis " + std::to_string(axis) + " of shape " + s + " cannot be squeezed"};
}

std::vector<value_type> infer_squeeze(const op_view& op) {
  const auto& s = op.shape(0);
  const auto axes = integers(op, 1, "axes");
  if (!s.has_rank())
    return {{op.element(0), {}}};
  std::vector<dim> dims;
  if (axes) {
    const auto mark = marked(*axes, s.rank());
    for (std::size_t i = 0; i < s.rank(); ++i) {
      if (!mark[i])
        dims.push_back(s[i]);
      else if (s[i].known() && s[i] != dim{1})
        cannot_squeeze(i, to_string(s));
    }
    return {{op.element(0), partial_shape{std::move(dims)}}};
  }
  if (op.has_input(1)) {
    const auto& count = op.shape(1);
    const auto known = count.has_rank() && count.rank() == 1 && count[0].known() && count[0].extent() >= 0 &&
                       static_cast<std::size_t>(count[0].extent()) <= s.rank();
    return {{op.element(0),
             known ? of_rank(s.rank() - static_cast<std::size_t>(count[0].extent())) : partial_shape{}}};
  }
  if (!s.known())
    return {{op.element(0), {}}};
  std::copy_if(s.dims().begin(), s.dims().end(), std::back_inserter(dims),
               [](const dim& d) { return d != dim{1}; });
  return {{op.element(0), partial_shape{std::move(dims)}}};
}

kernel_entry squeeze_kernel() {
  return {[](const kernel_request& r) {
    const auto all = !r.op.has_input(1) && !r.op.attributes().has("axes");
    return make_kernel([all, given = r.op.attributes().get<integer_list>("axes", {})](kernel_context& ctx) {
      const auto& s = ctx.input(0).shape();
      const auto mark = all ? std::vector<bool>{} : marked(integers_of(ctx, 1, given), s.rank());
      axis_list extents;
      for (std::size_t i = 0; i < s.rank(); ++i) {
        if (all ? s[i] != 1 : !mark[i])
          extents.push_back(s[i]);
        else if (s[i] != 1)
          cannot_squeeze(i, to_string(s));
      }
      ctx.set_output(0, tensor::reshaped(ctx.input_value(0), shape_of(extents)));
    });
  }};
}

std::vector<value_type> infer_unsqueeze(const op_view& op) {
  const auto& s = op.shape(0);
  const auto axes = integers(op, 1, "axes");
  if (!axes || !s.has_rank())
    return {{op.element(0), {}}};
  const auto mark = marked(*axes, s.rank() + axes->size());
  std::vector<dim> dims;
  std::size_t next = 0;
  for (const auto fresh : mark)
    dims.push_back(fresh ? dim{1} : s[next++]);
  return {{op.element(0), partial_shape{std::move(dims)}}};
}

kernel_entry unsqueeze_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([given = r.op.attributes().get<integer_list>("axes", {})](kernel_context& ctx) {
      const auto& s = ctx.input(0).shape();
      const auto axes = integers_of(ctx, 1, given);
      if (axes.size() + s.rank() > shape::max_rank)
        throw error{errc::kernel_failed, "shape " + to_string(s) + " and " + std::to_string(axes.size()) +
                                             " more axes are more than " + std::to_string(shape::max_rank)};
      axis_list extents;
      std::size_t next = 0;
      for (const auto fresh : marked(axes, s.rank() + axes.size()))
        extents.push_back(fresh ? 1 : s[next++]);
      ctx.set_output(0, tensor::reshaped(ctx.input_value(0), shape_of(extents)));
    });
  }};
}

// Shape and Size

/// The axes [first, last) that the attributes `start` and `end` choose.
std::pair<std::size_t, std::size_t> chosen_axes(std::int64_t start, std::int64_t end, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  const auto clamp = [r](std::int64_t a) { return std::clamp<std::int64_t>(a < 0 ? a + r : a, 0, r); };
  const auto first = clamp(start);
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(std::max(first, clamp(end)))};
}

constexpr auto no_end = std::numeric_limits<std::int64_t>::max();

std::vector<value_type> infer_shape(const op_view& op) {
  if (!op.input(0).is_tensor() || !op.shape(0).has_rank())
    return {{element_type::int64, of_rank(1)}};
  const auto [first, last] =
      chosen_axes(op.attributes().get<std::int64_t>("start", 0),
                  op.attributes().get<std::int64_t>("end", no_end), op.shape(0).rank());
  return {{element_type::int64, partial_shape{static_cast<std::int64_t>(last - first)}}};
}

kernel_entry shape_kernel() {
  return {[](const kernel_request& r) {
    const auto start = r.op.attributes().get<std::int64_t>("start", 0);
    const auto end = r.op.attributes().get<std::int64_t>("end", no_end);
    return make_kernel([start, end](kernel_context& ctx) {
      const auto& s = ctx.input(0).shape();
      const auto [first, last] = chosen_axes(start, end, s.rank());
      auto& out = ctx.output(0, element_type::int64, {static_cast<std::int64_t>(last - first)});
      std::copy(s.begin() + first, s.begin() + last, out.data<std::int64_t>().begin());
    });
  }};
}

std::vector<value_type> infer_size(const op_view&) {
  return {{element_type::int64, partial_shape{shape{}}}};
}

void size_of_tensor(kernel_context& ctx) {
  ctx.output(0, element_type::int64, {}).data<std::int64_t>()[0] = ctx.input(0).elements();
}

// Expand

std::vector<value_type> infer_expand(const op_view& op) {
  const auto target = op.constant_integers(1);
  if (target)
    return {{op.element(0), broadcast(op.shape(0), shape{*target})}};
  const auto& count = op.shape(1);
  if (!op.shape(0).has_rank() || !count.has_rank() || count.rank() != 1 || !count[0].known())
    return {{op.element(0), {}}};
  return {
      {op.element(0), of_rank(std::max(op.shape(0).rank(), static_cast<std::size_t>(count[0].extent())))}};
}

void expand(kernel_context& ctx) {
  const auto& in = ctx.input(0);
  const auto target = broadcast(in.shape(), shape{integers_of(ctx.input(1))});
  auto& out = ctx.output(0, in.type(), target);
  const auto sources = strides_of(in.shape());
  const auto targets = strides_of(target);
  const auto extra = target.rank() - in.shape().rank();
  strided_copy copy;
  for (std::size_t i = 0; i < target.rank(); ++i)
    copy.axis(target[i], i < extra || in.shape()[i - extra] == 1 ? 0 : sources[i - extra], targets[i]);
  copy.run(ctx, in.type(), in.raw(), out.raw());
}

} // namespace

void register_shape(operator_library& lib) {
  for (const auto version : {1, 5, 14}) // the shape as an attribute, as an input, and allowzero
    lib.add({.name = "Reshape",
             .since_opset = version,
             .min_inputs = version == 1 ? 1U : 2U,
             .max_inputs = version == 1 ? 1U : 2U,
             .infer = infer_reshape,
             .aliases = {{0, 0}}},
            reshape_kernel());
  lib.add({.name = "Flatten", .infer = infer_flatten, .aliases = {{0, 0}}}, flatten_kernel());
  lib.add({.name = "Squeeze", .infer = infer_squeeze, .aliases = {{0, 0}}}, squeeze_kernel());
  lib.add(
      {.name = "Squeeze", .since_opset = 13, .max_inputs = 2, .infer = infer_squeeze, .aliases = {{0, 0}}},
      squeeze_kernel());
  lib.add({.name = "Unsqueeze", .infer = infer_unsqueeze, .aliases = {{0, 0}}}, unsqueeze_kernel());
  lib.add({.name = "Unsqueeze",
           .since_opset = 13,
           .min_inputs = 2,
           .max_inputs = 2,
           .infer = infer_unsqueeze,
           .aliases = {{0, 0}}},
          unsqueeze_kernel());
  lib.add({.name = "Shape", .infer = infer_shape, .shape_only = true}, shape_kernel());
  lib.add({.name = "Size", .infer = infer_size, .shape_only = true}, plain_kernel(size_of_tensor));
  lib.add(
      {.name = "Expand", .min_inputs = 2, .max_inputs = 2, .infer = infer_expand, .cost = elementwise_cost()},
      plain_kernel(expand));
}

} // namespace sluice::ops
