#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>
#include <cstring>

namespace sluice::ops {

namespace {

using integer_list = std::vector<std::int64_t>;

// Pad

enum class pad_mode { constant, reflect, edge, wrap };

pad_mode mode_of(const attribute_map& attributes) {
  const auto name = attributes.get<std::string>("mode", "constant");
  if (name == "constant")
    return pad_mode::constant;
  if (name == "reflect")
    return pad_mode::reflect;
  if (name == "edge")
    return pad_mode::edge;
  if (name == "wrap")
    return pad_mode::wrap;
  throw error{errc::unsupported, "padding mode '" + name + "' is not known"};
}

struct axis_padding {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

/// The padding of each of `rank` axes. `pads` holds all beginnings, then all ends, of `axes` (null: of all).
std::vector<axis_padding> paddings(const integer_list& pads, const integer_list* axes, std::size_t rank) {
  const auto count = axes ? axes->size() : rank;
  if (pads.size() != 2 * count)
    throw error{errc::kernel_failed,
                std::to_string(pads.size()) + " paddings for " + std::to_string(count) + " axes"};
  std::vector<axis_padding> result(rank);
  for (std::size_t i = 0; i < count; ++i)
    result[axes ? axis_of((*axes)[i], rank) : i] = {pads[i], pads[count + i]};
  return result;
}

std::int64_t padded(std::int64_t extent, const axis_padding& p) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(extent, p.before, &sum) || __builtin_add_overflow(sum, p.after, &sum) || sum < 0)
    throw error{errc::kernel_failed, "an extent of " + std::to_string(extent) + " cannot be padded by " +
                                         std::to_string(p.before) + " and " + std::to_string(p.after)};
  return sum;
}

const char* attribute_name(const op_view& op) {
  return op.attributes().has("paddings") ? "paddings" : "pads"; // opset 1 says paddings
}

std::vector<value_type> infer_pad(const op_view& op) {
  auto s = op.shape(0);
  const auto pads = integers(op, 1, attribute_name(op));
  if (!s.has_rank())
    return {{op.element(0), {}}};
  const auto axes = op.has_input(3) ? op.constant_integers(3) : std::nullopt;
  if (!pads || (op.has_input(3) && !axes))
    return {{op.element(0), of_rank(s.rank())}};
  const auto by_axis = paddings(*pads, axes ? &*axes : nullptr, s.rank());
  for (std::size_t i = 0; i < s.rank(); ++i) {
    if (s[i].known())
      s[i] = padded(s[i].extent(), by_axis[i]);
    else if (by_axis[i].before != 0 || by_axis[i].after != 0)
      s[i] = {};
  }
  return {{op.element(0), std::move(s)}};
}

constexpr std::int64_t outside = -1; ///< what lies where a constant goes

/// For each index of a padded axis the index of the input that lies there.
std::vector<std::int64_t> sources_of(pad_mode mode, std::int64_t extent, const axis_padding& p) {
  std::vector<std::int64_t> sources(static_cast<std::size_t>(padded(extent, p)));
  if (mode != pad_mode::constant && extent == 0 && !sources.empty())
    throw error{errc::kernel_failed, "an axis without elements has nothing to pad with"};
  const auto modulo = [](std::int64_t a, std::int64_t n) { return (a % n + n) % n; };
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i) - p.before;
    if (at >= 0 && at < extent)
      sources[i] = at;
    else if (mode == pad_mode::constant)
      sources[i] = outside;
    else if (mode == pad_mode::edge)
      sources[i] = std::clamp<std::int64_t>(at, 0, extent - 1);
    else if (mode == pad_mode::wrap)
      sources[i] = modulo(at, extent);
    else if (extent > 1) { // a period goes there and back, the ends once
      const auto phase = modulo(at, 2 * extent - 2);
      sources[i] = std::min(phase, 2 * extent - 2 - phase);
    }
  }
  return sources;
}

/// What a row of the output takes from a row of the input: the middle as one run, the rest by index.
struct row_plan {
  std::vector<std::int64_t> sources;
  std::int64_t first = 0; ///< of the run, in the output
  std::int64_t run = 0;

  explicit row_plan(std::vector<std::int64_t> s) : sources(std::move(s)) {
    const auto n = static_cast<std::int64_t>(sources.size());
    const auto follows = [this](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i);
      return sources[at] != outside && sources[at] == sources[at - 1] + 1;
    };
    for (std::int64_t i = 0; i < n;) {
      auto end = i + 1;
      while (end < n && follows(end))
        ++end;
      if (end - i > run && sources[static_cast<std::size_t>(i)] != outside) {
        first = i;
        run = end - i;
      }
      i = end;
    }
  }

  template <class T>
  void fill(const T* source, const T& constant, T* target) const {
    const auto by_index = [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto from = sources[static_cast<std::size_t>(i)];
        target[i] = from == outside ? constant : source[from];
      }
    };
    by_index(0, first);
    if (run > 0)
      std::copy_n(source + sources[static_cast<std::size_t>(first)], run, target + first);
    by_index(first + run, static_cast<std::int64_t>(sources.size()));
  }
};

template <class T>
void pad(const kernel_context& ctx, const tensor& in, const T& constant, pad_mode mode,
         std::span<const axis_padding> by_axis, tensor& out) {
  const auto rank = in.shape().rank();
  const auto* source = static_cast<const T*>(in.raw());
  auto* target = static_cast<T*>(out.raw());
  if (rank == 0) {
    *target = *source;
    return;
  }
  std::vector<std::vector<std::int64_t>> sources;
  for (std::size_t i = 0; i < rank; ++i)
    sources.push_back(sources_of(mode, in.shape()[i], by_axis[i]));
  const row_plan plan{std::move(sources.back())};
  const auto strides = strides_of(in.shape());
  const auto width = out.shape()[rank - 1];
  ctx.parallel_for(static_cast<std::size_t>(out.shape().product(0, rank - 1)), grain_for(width),
                   [&](std::size_t begin, std::size_t end) {
                     for (auto row = begin; row < end; ++row) {
                       std::int64_t offset = 0;
                       auto inside = true;
                       auto rest = row;
                       for (auto a = rank - 1; a-- > 0;) {
                         const auto from = sources[a][rest % sources[a].size()];
                         rest /= sources[a].size();
                         inside = inside && from != outside;
                         offset += from * strides[a];
                       }
                       auto* to = target + static_cast<std::int64_t>(row) * width;
                       if (inside)
                         plan.fill(source + offset, constant, to);
                       else
                         std::fill_n(to, width, constant);
                     }
                   });
}

template <class T>
T constant_from(float f) {
  if constexpr (std::is_same_v<T, std::string>)
    return {};
  else if constexpr (std::is_constructible_v<T, float> && !std::is_arithmetic_v<T>)
    return T{f};
  else
    return static_cast<T>(f);
}

kernel_entry pad_kernel() {
  return {[](const kernel_request& r) {
    const auto& a = r.op.attributes();
    return make_kernel([mode = mode_of(a), given = a.get<integer_list>(attribute_name(r.op), {}),
                        fill = a.get<float>("value", 0.0F)](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto pads = integers_of(ctx, 1, given);
      const auto axes = ctx.has_input(3) ? integers_of(ctx.input(3)) : integer_list{};
      const auto by_axis = paddings(pads, ctx.has_input(3) ? &axes : nullptr, in.shape().rank());
      axis_list extents;
      for (std::size_t i = 0; i < by_axis.size(); ++i)
        extents.push_back(padded(in.shape()[i], by_axis[i]));
      if (ctx.has_input(2) && (ctx.input(2).type() != in.type() || ctx.input(2).elements() != 1))
        throw error{errc::kernel_failed, "padding with " + describe(ctx.input_value(2)) +
                                             " where one element of " + std::string{to_string(in.type())} +
                                             " is needed"};
      auto& out = ctx.output(0, in.type(), shape_of(extents));
      auto from_attribute = tensor::make(in.type(), {});
      if (!ctx.has_input(2))
        visit_element_type(in.type(), [&]<class T>(std::type_identity<T>) {
          from_attribute->data<T>()[0] = constant_from<T>(fill);
        });
      const auto& constant = ctx.has_input(2) ? ctx.input(2) : *from_attribute;
      visit_element_size(in.type(), [&]<class T>(std::type_identity<T>) {
        pad(ctx, in, *static_cast<const T*>(constant.raw()), mode, by_axis, out);
      });
    });
  }};
}

// Tile

std::vector<value_type> infer_tile(const op_view& op) {
  auto s = op.shape(0);
  if (!s.has_rank())
    return {{op.element(0), {}}};
  const auto repeats = op.constant_integers(1);
  if (!repeats || op.has_input(2) || repeats->size() != s.rank())
    return {{op.element(0), of_rank(s.rank())}};
  for (std::size_t i = 0; i < s.rank(); ++i) {
    std::int64_t extent = 0;
    if (s[i].known() && !__builtin_mul_overflow(s[i].extent(), (*repeats)[i], &extent) && extent >= 0)
      s[i] = extent;
    else if ((*repeats)[i] != 1)
      s[i] = {};
  }
  return {{op.element(0), std::move(s)}};
}

void tile(kernel_context& ctx, const integer_list& repeats) {
  const auto& in = ctx.input(0);
  const auto& s = in.shape();
  if (repeats.size() != s.rank())
    throw error{errc::kernel_failed,
                std::to_string(repeats.size()) + " repeats for a tensor of shape " + to_string(s)};
  axis_list extents;
  for (std::size_t i = 0; i < s.rank(); ++i) {
    std::int64_t extent = 0;
    if (repeats[i] < 0 || __builtin_mul_overflow(s[i], repeats[i], &extent))
      throw error{errc::kernel_failed, "an axis of " + std::to_string(s[i]) + " cannot be repeated " +
                                           std::to_string(repeats[i]) + " times"};
    extents.push_back(extent);
  }
  const auto target = shape_of(extents);
  auto& out = ctx.output(0, in.type(), target);
  const auto sources = strides_of(s);
  const auto targets = strides_of(target);
  strided_copy copy;
  for (std::size_t i = 0; i < s.rank(); ++i) {
    copy.axis(repeats[i], 0, s[i] * targets[i]);
    copy.axis(s[i], sources[i], targets[i]);
  }
  copy.run(ctx, in.type(), in.raw(), out.raw());
}

void tile_by_input(kernel_context& ctx) {
  tile(ctx, integers_of(ctx.input(1)));
}

/// Opset 1: how often, and along which axis.
void tile_one_axis(kernel_context& ctx) {
  const auto one = [&](std::size_t i) {
    const auto& t = ctx.input(i);
    if (t.elements() != 1)
      throw error{errc::kernel_failed, describe(ctx.input_value(i)) + " where one number is needed"};
    return t.type() == element_type::float32 ? static_cast<std::int64_t>(t.data<float>()[0])
                                             : integers_of(t)[0];
  };
  integer_list repeats(ctx.input(0).shape().rank(), 1);
  repeats[axis_of(one(2), repeats.size())] = one(1);
  tile(ctx, repeats);
}

} // namespace

void register_pad(operator_library& lib) {
  for (const auto version : {1, 11, 18}) // pads as an attribute, as an input, and for chosen axes
    lib.add({.name = "Pad",
             .since_opset = version,
             .min_inputs = version == 1 ? 1U : 2U,
             .max_inputs = version == 1    ? 1U
                           : version == 11 ? 3U
                                           : 4U,
             .infer = infer_pad,
             .cost = elementwise_cost()},
            pad_kernel());
  lib.add({.name = "Tile", .min_inputs = 3, .max_inputs = 3, .infer = infer_tile, .cost = elementwise_cost()},
          plain_kernel(tile_one_axis));
  lib.add({.name = "Tile",
           .since_opset = 6,
           .min_inputs = 2,
           .max_inputs = 2,
           .infer = infer_tile,
           .cost = elementwise_cost()},
          plain_kernel(tile_by_input));
}

} // namespace sluice::ops
