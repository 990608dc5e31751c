#include <sluice/ops/indexing.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>

namespace sluice::ops {

namespace {

// Gather

std::vector<value_type> infer_gather(const op_view& op) {
  const auto& data = op.shape(0);
  const auto& indices = op.shape(1);
  if (!data.has_rank() || !indices.has_rank())
    return {{op.element(0), {}}};
  const auto axis = normalize_axis(op.attributes().get<std::int64_t>("axis", 0), data.rank());
  std::vector<dim> dims{data.dims().begin(), data.dims().begin() + static_cast<std::ptrdiff_t>(axis)};
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), data.dims().begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.dims().end());
  return {{op.element(0), partial_shape{std::move(dims)}}};
}

kernel_entry gather_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([axis_given = r.op.attributes().get<std::int64_t>("axis", 0)](kernel_context& ctx) {
      const auto& data = ctx.input(0);
      const auto& s = data.shape();
      const auto axis = axis_of(axis_given, s.rank());
      auto indices = integers_of(ctx.input(1));
      for (auto& i : indices)
        i = index_of(i, s[axis]);
      std::vector<std::int64_t> extents{s.begin(), s.begin() + axis};
      extents.insert(extents.end(), ctx.input(1).shape().begin(), ctx.input(1).shape().end());
      extents.insert(extents.end(), s.begin() + axis + 1, s.end());
      auto& out = ctx.output(0, data.type(), shape{extents});
      const auto inner = s.product(axis + 1, s.rank());
      const auto block = s[axis] * inner;
      const auto rows = static_cast<std::size_t>(s.product(0, axis)) * indices.size();
      visit_element_size(data.type(), [&]<class T>(std::type_identity<T>) {
        const auto* source = static_cast<const T*>(data.raw());
        auto* target = static_cast<T*>(out.raw());
        ctx.parallel_for(rows, grain_for(inner), [&](std::size_t begin, std::size_t end) {
          for (auto row = begin; row < end; ++row) {
            const auto outer = static_cast<std::int64_t>(row / indices.size());
            std::copy_n(source + outer * block + indices[row % indices.size()] * inner, inner,
                        target + static_cast<std::int64_t>(row) * inner);
          }
        });
      });
    });
  }};
}

// GatherElements

std::vector<value_type> infer_gather_elements(const op_view& op) {
  return {{op.element(0), op.shape(1)}};
}

kernel_entry gather_elements_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([axis_given = r.op.attributes().get<std::int64_t>("axis", 0)](kernel_context& ctx) {
      const auto& data = ctx.input(0);
      const auto& s = ctx.input(1).shape();
      const auto axis = axis_of(axis_given, data.shape().rank());
      require_within(s, data.shape(), axis);
      auto indices = integers_of(ctx.input(1));
      for (auto& i : indices)
        i = index_of(i, data.shape()[axis]);
      auto& out = ctx.output(0, data.type(), s);
      const auto strides = strides_of(data.shape());
      const auto row = s[s.rank() - 1];
      const auto along =
          axis + 1 == s.rank() ? 0 : strides.back(); // what one step in a row adds besides the index
      visit_element_size(data.type(), [&]<class T>(std::type_identity<T>) {
        const auto* source = static_cast<const T*>(data.raw());
        auto* target = static_cast<T*>(out.raw());
        const auto rows = row == 0 ? 0 : indices.size() / static_cast<std::size_t>(row);
        ctx.parallel_for(rows, grain_for(row), [&](std::size_t begin, std::size_t end) {
          for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
            std::int64_t base = 0;
            auto rest = i;
            for (auto a = s.rank() - 1; a-- > 0; rest /= s[a])
              if (a != axis)
                base += rest % s[a] * strides[a];
            for (std::int64_t j = 0; j < row; ++j)
              target[i * row + j] =
                  source[base + j * along + indices[static_cast<std::size_t>(i * row + j)] * strides[axis]];
          }
        });
      });
    });
  }};
}

// GatherND

std::vector<value_type> infer_gather_nd(const op_view& op) {
  const auto& data = op.shape(0);
  const auto& indices = op.shape(1);
  const auto batch = op.attributes().get<std::int64_t>("batch_dims", 0);
  if (!data.has_rank() || !indices.has_rank() || indices.rank() == 0 || !indices[indices.rank() - 1].known())
    return {{op.element(0), {}}};
  const auto depth = batch + indices[indices.rank() - 1].extent();
  if (batch < 0 || depth > static_cast<std::int64_t>(data.rank()))
    throw error{errc::invalid_graph,
                "indices " + to_string(indices) + " are too long for data " + to_string(data)};
  std::vector<dim> dims{indices.dims().begin(), indices.dims().end() - 1};
  dims.insert(dims.end(), data.dims().begin() + depth, data.dims().end());
  return {{op.element(0), partial_shape{std::move(dims)}}};
}

kernel_entry gather_nd_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([batch_dims =
                            r.op.attributes().get<std::int64_t>("batch_dims", 0)](kernel_context& ctx) {
      const auto& data = ctx.input(0);
      const auto& s = ctx.input(1).shape();
      const auto batch = static_cast<std::size_t>(batch_dims);
      const auto plan = index_tuples(integers_of(ctx.input(1)), s, data.shape(), batch);
      axis_list extents{s.begin(), s.begin() + s.rank() - 1};
      extents.insert(extents.end(), data.shape().begin() + plan.indexed_axes, data.shape().end());
      auto& out = ctx.output(0, data.type(), shape_of(extents));
      visit_element_size(data.type(), [&]<class T>(std::type_identity<T>) {
        const auto* source = static_cast<const T*>(data.raw());
        auto* target = static_cast<T*>(out.raw());
        ctx.parallel_for(plan.offsets.size(), grain_for(plan.run), [&](std::size_t begin, std::size_t end) {
          for (auto i = begin; i < end; ++i)
            std::copy_n(source + plan.offsets[i], plan.run, target + static_cast<std::int64_t>(i) * plan.run);
        });
      });
    });
  }};
}

// Compress

std::vector<value_type> infer_compress(const op_view& op) {
  const auto* axis = op.attributes().find<std::int64_t>("axis");
  if (!axis)
    return {{op.element(0), of_rank(1)}};
  auto s = op.shape(0);
  if (s.has_rank())
    s[normalize_axis(*axis, s.rank())] = {};
  return {{op.element(0), std::move(s)}};
}

kernel_entry compress_kernel() {
  return {[](const kernel_request& r) {
    std::optional<std::int64_t> axis_given;
    if (const auto* axis = r.op.attributes().find<std::int64_t>("axis"))
      axis_given = *axis;
    return make_kernel([axis_given](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto s = axis_given ? in.shape() : shape{in.elements()};
      const auto axis = axis_given ? axis_of(*axis_given, s.rank()) : 0;
      const auto condition = ctx.input(1).data<bool>();
      std::vector<std::int64_t> kept;
      for (std::size_t i = 0; i < condition.size(); ++i)
        if (condition[i])
          kept.push_back(index_of(static_cast<std::int64_t>(i), s[axis]));
      auto& out = ctx.output(0, in.type(), s.with(axis, static_cast<std::int64_t>(kept.size())));
      const auto outer = s.product(0, axis);
      const auto inner = s.product(axis + 1, s.rank());
      visit_element_size(in.type(), [&]<class T>(std::type_identity<T>) {
        const auto* source = static_cast<const T*>(in.raw());
        auto* target = static_cast<T*>(out.raw());
        for (std::int64_t o = 0; o < outer; ++o)
          for (const auto i : kept)
            target = std::copy_n(source + (o * s[axis] + i) * inner, inner, target);
      });
    });
  }};
}

} // namespace

void require_within(const shape& indices, const shape& data, std::size_t axis) {
  auto fits = indices.rank() == data.rank();
  for (std::size_t i = 0; fits && i < data.rank(); ++i)
    fits = i == axis || indices[i] <= data[i];
  if (!fits)
    throw error{errc::kernel_failed, "indices of shape " + to_string(indices) +
                                         " do not lie within data of shape " + to_string(data)};
}

tuple_plan index_tuples(std::span<const std::int64_t> indices, const shape& s, const shape& data,
                        std::size_t batch) {
  const auto depth = s.rank() == 0 ? 0 : static_cast<std::size_t>(s[s.rank() - 1]);
  auto fits = s.rank() > batch && batch + depth <= data.rank();
  for (std::size_t i = 0; fits && i < batch; ++i)
    fits = s[i] == data[i];
  if (!fits)
    throw error{errc::kernel_failed,
                "indices of shape " + to_string(s) + " do not fit data of shape " + to_string(data)};
  tuple_plan plan{
      .offsets = {}, .run = data.product(batch + depth, data.rank()), .indexed_axes = batch + depth};
  const auto strides = strides_of(data);
  const auto tuples = static_cast<std::size_t>(s.product(0, s.rank() - 1));
  const auto per_batch = static_cast<std::size_t>(std::max<std::int64_t>(1, s.product(batch, s.rank() - 1)));
  const auto batch_run = data.product(batch, data.rank());
  plan.offsets.reserve(tuples);
  for (std::size_t i = 0; i < tuples; ++i) {
    auto offset = static_cast<std::int64_t>(i / per_batch) * batch_run;
    for (std::size_t j = 0; j < depth; ++j)
      offset += index_of(indices[i * depth + j], data[batch + j]) * strides[batch + j];
    plan.offsets.push_back(offset);
  }
  return plan;
}

void register_gather(operator_library& lib) {
  lib.add(
      {.name = "Gather", .min_inputs = 2, .max_inputs = 2, .infer = infer_gather, .cost = elementwise_cost()},
      gather_kernel());
  lib.add({.name = "GatherElements",
           .since_opset = 11,
           .min_inputs = 2,
           .max_inputs = 2,
           .infer = infer_gather_elements,
           .cost = elementwise_cost()},
          gather_elements_kernel());
  lib.add({.name = "GatherND",
           .since_opset = 11,
           .min_inputs = 2,
           .max_inputs = 2,
           .infer = infer_gather_nd,
           .cost = elementwise_cost()},
          gather_nd_kernel());
  lib.add({.name = "Compress", .min_inputs = 2, .max_inputs = 2, .infer = infer_compress}, compress_kernel());
}

} // namespace sluice::ops
