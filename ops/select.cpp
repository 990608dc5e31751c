#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>
#include <numeric>

namespace sluice::ops {

namespace {

// NonZero

std::vector<value_type> infer_non_zero(const op_view& op) {
  const auto& s = op.shape(0);
  if (!s.has_rank())
    return {{element_type::int64, of_rank(2)}};
  return {{element_type::int64, {dim{static_cast<std::int64_t>(std::max<std::size_t>(1, s.rank()))}, dim{}}}};
}

void non_zero(kernel_context& ctx) {
  const auto& in = ctx.input(0);
  const auto s = in.shape().rank() == 0 ? shape{1} : in.shape();
  std::vector<std::int64_t> found;
  visit_element_type(in.type(), [&]<class T>(std::type_identity<T>) {
    const auto elements = in.data<T>();
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (!(elements[i] == T{}))
        found.push_back(static_cast<std::int64_t>(i));
  });
  const auto n = found.size();
  auto indices =
      ctx.output(0, element_type::int64, {static_cast<std::int64_t>(s.rank()), static_cast<std::int64_t>(n)})
          .data<std::int64_t>();
  for (auto axis = s.rank(); axis-- > 0;)
    for (std::size_t i = 0; i < n; ++i) {
      indices[axis * n + i] = found[i] % s[axis];
      found[i] /= s[axis];
    }
}

// OneHot

std::int64_t number_at(const tensor& t, std::size_t i) {
  return visit_element_type(t.type(), [&]<class T>(std::type_identity<T>) -> std::int64_t {
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<std::int64_t>(t.data<T>()[i]);
    else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
      return static_cast<std::int64_t>(static_cast<float>(t.data<T>()[i]));
    else
      throw error{errc::unsupported,
                  "a number is needed where " + std::string{to_string(t.type())} + " is given"};
  });
}

std::vector<value_type> infer_one_hot(const op_view& op) {
  const auto& s = op.shape(0);
  if (!s.has_rank())
    return {{op.element(2), {}}};
  const auto axis = normalize_axis(op.attributes().get<std::int64_t>("axis", -1), s.rank() + 1);
  auto dims = s.dims();
  const auto& depth = op.constant(1);
  const auto known = !depth.empty() && depth.tensor().elements() == 1;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis),
              known ? dim{number_at(depth.tensor(), 0)} : dim{});
  return {{op.element(2), partial_shape{std::move(dims)}}};
}

kernel_entry one_hot_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([axis_given = r.op.attributes().get<std::int64_t>("axis", -1)](kernel_context& ctx) {
      const auto& indices = ctx.input(0);
      const auto& s = indices.shape();
      const auto& values = ctx.input(2);
      if (ctx.input(1).elements() != 1 || values.elements() != 2)
        throw error{errc::kernel_failed, "a depth of one element and a pair of values are needed"};
      const auto depth = number_at(ctx.input(1), 0);
      const auto axis = axis_of(axis_given, s.rank() + 1);
      std::vector<std::int64_t> extents{s.begin(), s.end()};
      extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(axis), depth);
      auto& out = ctx.output(0, values.type(), shape{extents});
      const auto inner = s.product(axis, s.rank());
      visit_element_size(values.type(), [&]<class T>(std::type_identity<T>) {
        const auto* pair = static_cast<const T*>(values.raw()); // off, on
        auto* target = static_cast<T*>(out.raw());
        std::fill_n(target, out.elements(), pair[0]);
        for (std::int64_t i = 0; i < indices.elements(); ++i) {
          auto hot = number_at(indices, static_cast<std::size_t>(i));
          hot += hot < 0 ? depth : 0;
          if (hot >= 0 && hot < depth)
            target[(i / inner * depth + hot) * inner + i % inner] = pair[1];
        }
      });
    });
  }};
}

// Trilu

kernel_entry trilu_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel(
        [upper = r.op.attributes().get<std::int64_t>("upper", 1) != 0](kernel_context& ctx) {
          const auto s = ctx.input(0).shape();
          if (s.rank() < 2)
            throw error{errc::kernel_failed, "a triangle needs matrices, not shape " + to_string(s)};
          if (ctx.has_input(1) && ctx.input(1).elements() != 1)
            throw error{errc::kernel_failed, "the diagonal is one number"};
          const auto rows = s[s.rank() - 2];
          const auto columns = s[s.rank() - 1];
          const auto limit = rows + columns; // further off the matrix, diagonals are all alike
          const auto diagonal =
              ctx.has_input(1) ? std::clamp(integers_of(ctx.input(1))[0], -limit, limit) : std::int64_t{0};
          const auto& in = ctx.input(0);
          auto& out = ctx.output(0, in.type(), s);
          visit_element_size(in.type(), [&]<class T>(std::type_identity<T>) {
            const auto* source = static_cast<const T*>(in.raw());
            auto* target = static_cast<T*>(out.raw());
            const auto total = columns == 0 ? 0 : s.elements() / columns;
            ctx.parallel_for(
                static_cast<std::size_t>(total), grain_for(columns), [&](std::size_t begin, std::size_t end) {
                  for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
                    // The upper triangle keeps columns from the diagonal on, the lower one up to it.
                    const auto edge =
                        std::clamp<std::int64_t>(i % rows + diagonal + (upper ? 0 : 1), 0, columns);
                    const auto first = upper ? edge : 0;
                    const auto last = upper ? columns : edge;
                    const auto* from = source + i * columns;
                    auto* to = target + i * columns;
                    if (from != to)
                      std::copy(from + first, from + last, to + first);
                    std::fill(to, to + first, T{});
                    std::fill(to + last, to + columns, T{});
                  }
                });
          });
        },
        {.in_place = {{0, 0}}});
  }};
}

// ReverseSequence

kernel_entry reverse_sequence_kernel() {
  return {[](const kernel_request& r) {
    const auto batch_given = r.op.attributes().get<std::int64_t>("batch_axis", 1);
    const auto time_given = r.op.attributes().get<std::int64_t>("time_axis", 0);
    return make_kernel([batch_given, time_given](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto& s = in.shape();
      const auto batch = axis_of(batch_given, s.rank());
      const auto time = axis_of(time_given, s.rank());
      const auto lengths = integers_of(ctx.input(1));
      if (batch + time != 1 || static_cast<std::int64_t>(lengths.size()) != s[batch])
        throw error{errc::kernel_failed, "axes " + std::to_string(batch) + " and " + std::to_string(time) +
                                             " with " + std::to_string(lengths.size()) +
                                             " lengths do not fit shape " + to_string(s)};
      auto& out = ctx.output(0, in.type(), s);
      const auto strides = strides_of(s);
      const auto inner = s.product(2, s.rank());
      for (std::int64_t b = 0; b < s[batch]; ++b) {
        const auto length = lengths[static_cast<std::size_t>(b)];
        if (length < 0 || length > s[time])
          throw error{errc::kernel_failed,
                      "a length of " + std::to_string(length) + " for an axis of " + std::to_string(s[time])};
        const auto start = b * strides[batch];
        strided_copy reversed;
        reversed.axis(length, -strides[time], strides[time]);
        reversed.axis(inner, 1, 1);
        if (length > 0)
          reversed.run(ctx, in.type(), element_at(in.type(), in.raw(), start + (length - 1) * strides[time]),
                       element_at(in.type(), out.raw(), start));
        strided_copy rest;
        rest.axis(s[time] - length, strides[time], strides[time]);
        rest.axis(inner, 1, 1);
        const auto after = start + length * strides[time];
        rest.run(ctx, in.type(), element_at(in.type(), in.raw(), after),
                 element_at(in.type(), out.raw(), after));
      }
    });
  }};
}

// Unique

std::vector<value_type> infer_unique(const op_view& op) {
  const auto* axis = op.attributes().find<std::int64_t>("axis");
  auto s = axis ? op.shape(0) : of_rank(1);
  if (axis && s.has_rank())
    s[normalize_axis(*axis, s.rank())] = {};
  const value_type positions{element_type::int64, of_rank(1)};
  return {{op.element(0), std::move(s)}, positions, positions, positions};
}

/// The slices of a tensor along one axis, to be compared.
template <class T>
struct slices {
  const T* elements;
  std::int64_t outer;
  std::int64_t count;
  std::int64_t inner;

  const T* at(std::int64_t slice, std::int64_t o) const { return elements + (o * count + slice) * inner; }

  bool less(std::int64_t a, std::int64_t b) const {
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) {
        const auto& x = at(a, o)[i];
        const auto& y = at(b, o)[i];
        if (x < y || y < x)
          return x < y;
      }
    return false;
  }
};

template <class T>
void unique(kernel_context& ctx, const shape& s, std::size_t axis, bool sorted) {
  const slices<T> all{ctx.input(0).data<T>().data(), s.product(0, axis), s[axis],
                      s.product(axis + 1, s.rank())};
  const auto n = static_cast<std::size_t>(all.count);
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return all.less(a, b); });
  std::vector<std::int64_t> first; // of each group of equals
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> group_of(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0 || all.less(order[i - 1], order[i])) {
      first.push_back(order[i]);
      counts.push_back(0);
    }
    ++counts.back();
    group_of[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(first.size()) - 1;
  }
  const auto groups = first.size();
  std::vector<std::size_t> ranking(groups); // the group that stands at each place
  std::iota(ranking.begin(), ranking.end(), std::size_t{0});
  if (!sorted)
    std::sort(ranking.begin(), ranking.end(),
              [&](std::size_t a, std::size_t b) { return first[a] < first[b]; });
  std::vector<std::int64_t> place(groups);
  for (std::size_t i = 0; i < groups; ++i)
    place[ranking[i]] = static_cast<std::int64_t>(i);

  const auto count = static_cast<std::int64_t>(groups);
  auto* target = ctx.output(0, ctx.input(0).type(), s.with(axis, count)).template data<T>().data();
  for (std::int64_t o = 0; o < all.outer; ++o)
    for (const auto g : ranking)
      target = std::copy_n(all.at(first[g], o), all.inner, target);
  const auto give = [&](std::size_t i, std::int64_t extent, auto element) {
    if (i >= ctx.output_count())
      return;
    auto list = ctx.output(i, element_type::int64, {extent}).template data<std::int64_t>();
    for (std::size_t k = 0; k < list.size(); ++k)
      list[k] = element(k);
  };
  give(1, count, [&](std::size_t k) { return first[ranking[k]]; });
  give(2, all.count, [&](std::size_t k) { return place[static_cast<std::size_t>(group_of[k])]; });
  give(3, count, [&](std::size_t k) { return counts[ranking[k]]; });
}

kernel_entry unique_kernel() {
  return {[](const kernel_request& r) {
    std::optional<std::int64_t> axis_given;
    if (const auto* axis = r.op.attributes().find<std::int64_t>("axis"))
      axis_given = *axis;
    const auto sorted = r.op.attributes().get<std::int64_t>("sorted", 1) != 0;
    return make_kernel([axis_given, sorted](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto s = axis_given ? in.shape() : shape{in.elements()};
      const auto axis = axis_given ? axis_of(*axis_given, s.rank()) : 0;
      visit_element_type(in.type(), [&]<class T>(std::type_identity<T>) {
        if constexpr (requires(const T& a) { a < a; })
          unique<T>(ctx, s, axis, sorted);
        else
          throw error{errc::unsupported, "complex numbers have no order"};
      });
    });
  }};
}

} // namespace

void register_select(operator_library& lib) {
  lib.add({.name = "NonZero", .since_opset = 9, .infer = infer_non_zero}, plain_kernel(non_zero));
  lib.add({.name = "OneHot", .since_opset = 9, .min_inputs = 3, .max_inputs = 3, .infer = infer_one_hot},
          one_hot_kernel());
  lib.add({.name = "Trilu",
           .since_opset = 14,
           .max_inputs = 2,
           .infer = same_as_first,
           .cost = elementwise_cost()},
          trilu_kernel());
  lib.add({.name = "ReverseSequence",
           .since_opset = 10,
           .min_inputs = 2,
           .max_inputs = 2,
           .infer = same_as_first,
           .cost = elementwise_cost()},
          reverse_sequence_kernel());
  lib.add({.name = "Unique", .since_opset = 11, .max_outputs = 4, .infer = infer_unique}, unique_kernel());
}

} // namespace sluice::ops
