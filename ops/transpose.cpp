#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <numeric>

namespace sluice::ops {

namespace {

// Transpose

/// The permutation that the attribute gives, reversed order by default. Throws unless it is one of `rank`.
std::vector<std::size_t> permutation_of(const std::vector<std::int64_t>* given, std::size_t rank) {
  std::vector<std::size_t> permutation(rank);
  if (!given) {
    std::iota(permutation.rbegin(), permutation.rend(), std::size_t{0});
    return permutation;
  }
  std::vector<bool> seen(rank);
  if (given->size() != rank)
    throw error{errc::invalid_graph, "a permutation of " + std::to_string(given->size()) +
                                         " axes does not fit rank " + std::to_string(rank)};
  for (std::size_t i = 0; i < rank; ++i) {
    permutation[i] = axis_of((*given)[i], rank);
    if (seen[permutation[i]])
      throw error{errc::invalid_graph,
                  "axis " + std::to_string(permutation[i]) + " stands twice in the permutation"};
    seen[permutation[i]] = true;
  }
  return permutation;
}

std::vector<value_type> infer_transpose(const op_view& op) {
  const auto* given = op.attributes().find<std::vector<std::int64_t>>("perm");
  const auto& s = op.shape(0);
  if (!s.has_rank())
    return {{op.element(0), given ? of_rank(given->size()) : partial_shape{}}};
  std::vector<dim> dims;
  for (const auto axis : permutation_of(given, s.rank()))
    dims.push_back(s[axis]);
  return {{op.element(0), partial_shape{std::move(dims)}}};
}

/// True if only axes of extent 1 change places, so that the elements keep their order.
bool keeps_order(const shape& s, std::span<const std::size_t> permutation) {
  std::size_t last = 0;
  for (const auto axis : permutation)
    if (s[axis] != 1) {
      if (axis < last)
        return false;
      last = axis;
    }
  return true;
}

kernel_entry transpose_kernel() {
  return {[](const kernel_request& r) {
    std::optional<std::vector<std::int64_t>> given;
    if (const auto* perm = r.op.attributes().find<std::vector<std::int64_t>>("perm"))
      given = *perm;
    return make_kernel([given](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto& s = in.shape();
      const auto permutation = permutation_of(given ? &*given : nullptr, s.rank());
      axis_list extents;
      for (const auto axis : permutation)
        extents.push_back(s[axis]);
      const auto target = shape_of(extents);
      if (keeps_order(s, permutation))
        ctx.set_output(0, tensor::reshaped(ctx.input_value(0), target));
      else
        permute(ctx, in.type(), s, permutation, in.raw(), ctx.output(0, in.type(), target).raw());
    });
  }};
}

// DepthToSpace and SpaceToDepth: both permute the axes of an image whose blocks have axes of their own.

std::int64_t block_size(const attribute_map& attributes) {
  const auto size = attributes.get<std::int64_t>("blocksize");
  if (size < 1 || size > (std::int64_t{1} << 20))
    throw error{errc::invalid_graph, "a block size of " + std::to_string(size)};
  return size;
}

void require_image(const partial_shape& s) {
  if (s.rank() != 4)
    throw error{errc::invalid_graph, "an image needs four axes, not shape " + to_string(s)};
}

/// `d` divided by `n`. Throws if it does not divide.
dim divided(const dim& d, std::int64_t n) {
  if (!d.known())
    return n == 1 ? d : dim{};
  if (d.extent() % n != 0)
    throw error{errc::invalid_graph, "an extent of " + std::to_string(d.extent()) +
                                         " cannot be cut in blocks of " + std::to_string(n)};
  return d.extent() / n;
}

dim multiplied(const dim& d, std::int64_t n) {
  if (!d.known())
    return n == 1 ? d : dim{};
  return d.extent() * n;
}

std::vector<value_type> infer_depth_to_space(const op_view& op) {
  const auto b = block_size(op.attributes());
  const auto& s = op.shape(0);
  if (!s.has_rank())
    return {{op.element(0), of_rank(4)}};
  require_image(s);
  return {{op.element(0), {s[0], divided(s[1], b * b), multiplied(s[2], b), multiplied(s[3], b)}}};
}

std::vector<value_type> infer_space_to_depth(const op_view& op) {
  const auto b = block_size(op.attributes());
  const auto& s = op.shape(0);
  if (!s.has_rank())
    return {{op.element(0), of_rank(4)}};
  require_image(s);
  return {{op.element(0), {s[0], multiplied(s[1], b * b), divided(s[2], b), divided(s[3], b)}}};
}

kernel_entry depth_to_space_kernel() {
  return {[](const kernel_request& r) {
    const auto b = block_size(r.op.attributes());
    const auto mode = r.op.attributes().get<std::string>("mode", "DCR");
    if (mode != "DCR" && mode != "CRD")
      throw error{errc::unsupported, "mode '" + mode + "' is neither DCR nor CRD"};
    return make_kernel([b, depth_first = mode == "DCR"](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto& s = in.shape();
      require_image(s);
      const auto depth = divided(s[1], b * b).extent();
      auto& out = ctx.output(0, in.type(), {s[0], depth, s[2] * b, s[3] * b});
      if (depth_first)
        permute(ctx, in.type(), {s[0], b, b, depth, s[2], s[3]}, std::array<std::size_t, 6>{0, 3, 4, 1, 5, 2},
                in.raw(), out.raw());
      else
        permute(ctx, in.type(), {s[0], depth, b, b, s[2], s[3]}, std::array<std::size_t, 6>{0, 1, 4, 2, 5, 3},
                in.raw(), out.raw());
    });
  }};
}

kernel_entry space_to_depth_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([b = block_size(r.op.attributes())](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto& s = in.shape();
      require_image(s);
      const auto rows = divided(s[2], b).extent();
      const auto columns = divided(s[3], b).extent();
      permute(ctx, in.type(), {s[0], s[1], rows, b, columns, b}, std::array<std::size_t, 6>{0, 3, 5, 1, 2, 4},
              in.raw(), ctx.output(0, in.type(), {s[0], s[1] * b * b, rows, columns}).raw());
    });
  }};
}

} // namespace

void register_transpose(operator_library& lib) {
  lib.add({.name = "Transpose", .infer = infer_transpose, .cost = elementwise_cost(), .aliases = {{0, 0}}},
          transpose_kernel());
  lib.add({.name = "DepthToSpace", .infer = infer_depth_to_space, .cost = elementwise_cost()},
          depth_to_space_kernel());
  lib.add({.name = "SpaceToDepth", .infer = infer_space_to_depth, .cost = elementwise_cost()},
          space_to_depth_kernel());
}

} // namespace sluice::ops
