#include <sluice/ops/conv_gemm.hpp>
#include <sluice/ops/gemm.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/operand.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>

namespace sluice::ops {

namespace {

// Pixels of the input whose products are spread into the output at once.
constexpr std::size_t tile_pixels = 256;

/// The window that slides over the *output*, giving the input's extents as its numbers of positions.
std::optional<window> transposed_window(const op_view& op, std::span<const dim> spatial,
                                        std::span<const std::int64_t> kernel) {
  const auto rank = spatial.size();
  const auto strides = axis_attribute(op, "strides", rank, 1, 1);
  const auto dilations = axis_attribute(op, "dilations", rank, 1, 1);
  const auto pads = axis_attribute(op, "pads", 2 * rank, 0, 0);
  const auto extra = axis_attribute(op, "output_padding", rank, 0, 0);
  const auto wanted = axis_attribute(op, "output_shape", rank, 0, -1);
  const auto auto_pad = op.attributes().get<std::string>("auto_pad", "NOTSET");
  const auto upper = auto_pad == "SAME_UPPER";
  const auto same = upper || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.empty())
    throw error{errc::invalid_graph, "auto_pad is '" + auto_pad + "'"};
  window w;
  for (std::size_t i = 0; i < rank; ++i) {
    window::axis a{
        .out = spatial[i].extent(), .kernel = kernel[i], .stride = strides[i], .dilation = dilations[i]};
    if (a.kernel < 1)
      return std::nullopt;
    if (a.out > (std::int64_t{1} << 30))
      throw error{errc::invalid_graph, "an extent of " + std::to_string(a.out)};
    if (a.out >= 0) {
      const auto full = (a.out - 1) * a.stride + extra[i] + a.reach();
      const auto target = wanted[i] >= 0 ? wanted[i] : same ? a.out * a.stride : -1;
      if (target >= 0) {
        const auto total = std::max<std::int64_t>(0, full - target);
        a.pad_begin = upper ? total / 2 : total - total / 2;
        a.pad_end = total - a.pad_begin;
        a.in = target;
      } else {
        a.pad_begin = auto_pad == "VALID" ? 0 : pads[i];
        a.pad_end = auto_pad == "VALID" ? 0 : pads[i + rank];
        a.in = full - a.pad_begin - a.pad_end;
      }
      if (a.in < 0 || (a.out == 0 && a.in > 0 && target < 0))
        throw error{errc::invalid_graph,
                    "an extent of " + std::to_string(a.out) + " would become " + std::to_string(a.in)};
    }
    w.axes.push_back(a);
  }
  return w;
}

struct transposed {
  partial_shape y;
  std::optional<window> over;
};

transposed node_of(const op_view& op) {
  const auto& x = op.shape(0);
  const auto& w = op.shape(1);
  const auto group = op.attributes().get<std::int64_t>("group", 1);
  if (group < 1)
    throw error{errc::invalid_graph, "attribute group is " + std::to_string(group)};
  if (!x.has_rank() || !w.has_rank())
    return {};
  const auto spatial = spatial_dims(x);
  if (w.rank() != x.rank())
    throw error{errc::invalid_graph, "weights " + to_string(w) + " over an image " + to_string(x)};
  if ((x[1].known() && w[0].known() && x[1].extent() != w[0].extent()) ||
      (w[0].known() && w[0].extent() % group != 0))
    throw error{errc::invalid_graph, "weights " + to_string(w) + " in " + std::to_string(group) +
                                         " groups over an image " + to_string(x) + ": channels differ"};
  auto kernel = axis_attribute(op, "kernel_shape", spatial.size(), 1, -1);
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const auto& own = w[i + 2];
    if (own.known() && kernel[i] >= 0 && kernel[i] != own.extent())
      throw error{errc::invalid_graph, "kernel_shape differs from the weights' shape " + to_string(w)};
    if (own.known())
      kernel[i] = own.extent();
  }
  transposed t{.y = {}, .over = transposed_window(op, spatial, kernel)};
  std::vector<dim> dims{x[0], w[1].known() ? dim{w[1].extent() * group} : dim{}};
  for (std::size_t i = 0; i < spatial.size(); ++i)
    dims.push_back(t.over && t.over->axes[i].in >= 0 ? dim{t.over->axes[i].in} : dim{});
  t.y = partial_shape{std::move(dims)};
  if (op.has_input(2) && op.shape(2).known() && t.y[1].known() && !(op.shape(2) == partial_shape{t.y[1]}))
    throw error{errc::invalid_graph, "a bias " + to_string(op.shape(2)) + " for " + to_string(t.y)};
  return t;
}

op_cost transposed_cost(const op_view& op, std::span<const value_type> outputs) {
  auto cost = elementwise_cost()(op, outputs);
  const auto& w = op.input(1);
  cost.flops =
      2 * elements(op.input(0)) * elements(w) / std::max(1.0, static_cast<double>(w.shape()[0].extent()));
  return cost;
}

/// Products of each pixel with all weights of its group, spread over the output.
///
/// `c` is the convolution that this is the transposed of: it reads our output (c.in channels a group) and
/// gives our input (c.out channels a group).
template <class T>
class transposed_convolution final : public prepared_kernel {
  using C = compute_type<T>;

public:
  transposed_convolution(convolution c, const shape& y) : c_(std::move(c)), y_(y) {}

  completion execute(kernel_context& ctx) const override {
    computed_output<T> y{ctx, 0, y_};
    const computable<T> x{&ctx, ctx.input(0)};
    const computable<T> w{&ctx, ctx.input(1)};
    std::optional<computable<T>> bias;
    if (ctx.has_input(2))
      bias.emplace(&ctx, ctx.input(2));
    const auto y_group = c_.in * static_cast<std::size_t>(c_.over.in_elements());
    const auto x_group = c_.out * static_cast<std::size_t>(c_.over.out_elements());
    const auto w_group = c_.out * c_.in * static_cast<std::size_t>(c_.over.kernel_elements());
    ctx.parallel_for(c_.batch * c_.groups, 1, [&](std::size_t begin, std::size_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto group = i % c_.groups;
        spread(ctx, x.data() + i * x_group, w.data() + group * w_group,
               bias ? bias->data() + group * c_.in : nullptr, y.data() + i * y_group);
      }
    });
    y.finish();
    return completion::done;
  }

private:
  void spread(const kernel_context& ctx, const C* x, const C* w, const C* bias, C* y) const {
    const auto y_pixels = static_cast<std::size_t>(c_.over.in_elements());
    const auto x_pixels = static_cast<std::size_t>(c_.over.out_elements());
    const auto kernel = static_cast<std::size_t>(c_.over.kernel_elements());
    const auto rows = c_.in * kernel;
    for (std::size_t channel = 0; channel < c_.in; ++channel)
      std::fill_n(y + channel * y_pixels, y_pixels, bias ? bias[channel] : C{});
    const scratch_array<C> packed{ctx, packed_size<C>(c_.out, tile_pixels)};
    const scratch_array<C> products{ctx, rows * tile_pixels};
    for (std::size_t first = 0; first < x_pixels && rows > 0; first += tile_pixels) {
      const auto count = std::min(tile_pixels, x_pixels - first);
      pack(packed.data(), matrix_view<C>{x + first, static_cast<std::ptrdiff_t>(x_pixels), 1}, c_.out, count);
      multiply_here(matrix_product<C>{.m = rows,
                                      .n = count,
                                      .k = c_.out,
                                      .a = {w, 1, static_cast<std::ptrdiff_t>(rows)},
                                      .b = right_side<C>::packed(packed.data(), c_.out),
                                      .c = products.data(),
                                      .c_row = static_cast<std::ptrdiff_t>(count)});
      for (std::size_t row = 0; row < rows; ++row)
        add_row(products.data() + row * count, first, count, row % kernel, y + row / kernel * y_pixels);
    }
  }

  /// Adds the products of pixels [first, first + count) with one kernel element to one channel.
  void add_row(const C* products, std::size_t first, std::size_t count, std::size_t position,
               C* channel) const {
    const auto& last = c_.over.axes.back();
    for (std::size_t done = 0; done < count;) {
      auto pixel = static_cast<std::int64_t>(first + done);
      auto kernel = static_cast<std::int64_t>(position);
      const auto column = pixel % last.out;
      const auto run = std::min(static_cast<std::int64_t>(count - done), last.out - column);
      const auto start = column * last.stride + kernel % last.kernel * last.dilation - last.pad_begin;
      pixel /= last.out;
      kernel /= last.kernel;
      std::int64_t offset = 0;
      std::int64_t elements = last.in;
      auto inside = true;
      for (auto axis = c_.over.axes.size() - 1; axis-- > 0;) {
        const auto& a = c_.over.axes[axis];
        const auto at = pixel % a.out * a.stride + kernel % a.kernel * a.dilation - a.pad_begin;
        pixel /= a.out;
        kernel /= a.kernel;
        inside = inside && at >= 0 && at < a.in;
        offset += at * elements;
        elements *= a.in;
      }
      if (inside) {
        const auto low = start < 0 ? std::min((-start + last.stride - 1) / last.stride, run) : 0;
        const auto high =
            start >= last.in ? low : std::clamp((last.in - 1 - start) / last.stride + 1, low, run);
        for (auto i = low; i < high; ++i)
          channel[offset + start + i * last.stride] += products[static_cast<std::int64_t>(done) + i];
      }
      done += static_cast<std::size_t>(run);
    }
  }

  const convolution c_;
  const shape y_;
};

std::unique_ptr<prepared_kernel> prepare_transposed(const kernel_request& r) {
  const auto t = node_of(r.op);
  const auto y = t.y.has_rank() ? t.y.to_shape() : std::nullopt;
  const auto x = r.op.shape(0).to_shape();
  const auto w = r.op.shape(1).to_shape();
  if (!y || !x || !w || !t.over)
    throw error{errc::unsupported, "a transposed convolution is prepared for known shapes"};
  const auto groups = static_cast<std::size_t>(r.op.attributes().get<std::int64_t>("group", 1));
  convolution c{.batch = static_cast<std::size_t>((*x)[0]),
                .groups = groups,
                .in = static_cast<std::size_t>((*w)[1]),
                .out = static_cast<std::size_t>((*w)[0]) / groups,
                .over = *t.over};
  switch (r.op.element(0)) {
  case element_type::float32:
    return std::make_unique<transposed_convolution<float>>(std::move(c), *y);
  case element_type::float64:
    return std::make_unique<transposed_convolution<double>>(std::move(c), *y);
  default:
    return std::make_unique<transposed_convolution<float16>>(std::move(c), *y);
  }
}

} // namespace

void register_conv_transpose(operator_library& lib) {
  lib.add(
      {.name = "ConvTranspose",
       .min_inputs = 2,
       .max_inputs = 3,
       .infer =
           [](const op_view& op) {
             require_element(op, 0, {element_type::float32, element_type::float64, element_type::float16});
             return std::vector{value_type{op.element(0), node_of(op).y}};
           },
       .cost = transposed_cost},
      {prepare_transposed, false});
}

} // namespace sluice::ops
