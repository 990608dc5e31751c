#include <sluice/ops/conv_gemm.hpp>
#include <sluice/ops/gemm.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/operand.hpp>
#include <sluice/ops/operators.hpp>

#ifndef SLUICE_MINI_OPS
#  include <sluice/ops/conv_onednn.hpp>
#endif

namespace sluice::ops {

std::optional<conv_types> conv_node(const op_view& op, std::size_t w_index) {
  const auto& x = op.shape(0);
  const auto& w = op.shape(w_index);
  const auto group = op.attributes().get<std::int64_t>("group", 1);
  if (group < 1)
    throw error{errc::invalid_graph, "attribute group is " + std::to_string(group)};
  if (!x.has_rank() || !w.has_rank())
    return std::nullopt;
  const auto spatial = spatial_dims(x);
  if (w.rank() != x.rank())
    throw error{errc::invalid_graph, "weights " + to_string(w) + " over an image " + to_string(x)};
  if (x[1].known() && w[1].known() && x[1].extent() != w[1].extent() * group)
    throw error{errc::invalid_graph, "weights " + to_string(w) + " in " + std::to_string(group) +
                                         " groups over an image " + to_string(x) + ": channels differ"};
  if (w[0].known() && w[0].extent() % group != 0)
    throw error{errc::invalid_graph, std::to_string(w[0].extent()) + " output channels do not divide into " +
                                         std::to_string(group) + " groups"};
  conv_types types{.y = partial_shape{x[0], w[0]}, .over = {}};
  auto dims = types.y.dims();
  auto kernel = axis_attribute(op, "kernel_shape", spatial.size(), 1, -1);
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const auto& own = w[i + 2];
    if (own.known() && kernel[i] >= 0 && own.extent() != kernel[i])
      throw error{errc::invalid_graph, "kernel_shape differs from the weights' shape " + to_string(w)};
    if (own.known())
      kernel[i] = own.extent();
    if (kernel[i] < 0) { // nothing follows for the output but its rank
      dims.resize(x.rank());
      types.y = partial_shape{std::move(dims)};
      return types;
    }
  }
  types.over = make_window(op, spatial, kernel);
  for (const auto& a : types.over.axes)
    dims.push_back(dim{a.out});
  types.y = partial_shape{std::move(dims)};
  return types;
}

convolution conv_extents(const op_view& op, std::size_t w_index) {
  const auto types = conv_node(op, w_index);
  const auto x = op.shape(0).to_shape();
  const auto w = op.shape(w_index).to_shape();
  if (!types || !x || !w)
    throw error{errc::unsupported, "a convolution is prepared for known shapes"};
  const auto groups = static_cast<std::size_t>(op.attributes().get<std::int64_t>("group", 1));
  return {.batch = static_cast<std::size_t>((*x)[0]),
          .groups = groups,
          .in = static_cast<std::size_t>((*w)[1]),
          .out = static_cast<std::size_t>((*w)[0]) / groups,
          .over = types->over};
}

shape conv_output(const convolution& c) {
  std::vector<std::int64_t> dims{static_cast<std::int64_t>(c.batch),
                                 static_cast<std::int64_t>(c.groups * c.out)};
  for (const auto& a : c.over.axes)
    dims.push_back(a.out);
  return shape{dims};
}

op_cost conv_cost(const op_view& op, std::span<const value_type> outputs) {
  auto cost = elementwise_cost()(op, outputs);
  const auto& w = op.input(1);
  cost.flops =
      2 * elements(outputs[0]) * elements(w) / std::max(1.0, static_cast<double>(w.shape()[0].extent()));
  return cost;
}

namespace {

void check_operands(const op_view& op) {
  for (std::size_t i = 1; i < op.input_count(); ++i)
    if (op.has_input(i) && op.element(i) != element_type::undefined &&
        op.element(0) != element_type::undefined && op.element(i) != op.element(0))
      throw error{errc::invalid_graph, "input " + std::to_string(i) + " is of " +
                                           std::string{to_string(op.element(i))} + ", the image of " +
                                           std::string{to_string(op.element(0))}};
  if (op.has_input(2) && op.shape(2).known() && op.shape(1).has_rank() && op.shape(1)[0].known() &&
      !(op.shape(2) == partial_shape{op.shape(1)[0]}))
    throw error{errc::invalid_graph,
                "a bias " + to_string(op.shape(2)) + " for weights " + to_string(op.shape(1))};
}

std::vector<value_type> infer_conv(const op_view& op) {
  require_element(
      op, 0, {element_type::float32, element_type::float64, element_type::float16, element_type::bfloat16});
  check_operands(op);
  const auto types = conv_node(op, 1);
  return {value_type{op.element(0), types ? types->y : partial_shape{}}};
}

/// Plain in, plain out, by products of matrices.
template <class T>
class gemm_convolution final : public prepared_kernel {
  using C = compute_type<T>;

public:
  gemm_convolution(convolution c, const value& weights) : c_(std::move(c)), y_(conv_output(c_)) {
    if constexpr (std::is_same_v<C, float>) {
      if (!weights.empty() && c_.over.out_elements() <= few_pixels)
        pack_weights(computable<T>{nullptr, weights.tensor()}.data());
    }
  }

  completion execute(kernel_context& ctx) const override {
    computed_output<T> y{ctx, 0, y_};
    const computable<T> x{&ctx, ctx.input(0)};
    std::optional<computable<T>> bias;
    if (ctx.has_input(2))
      bias.emplace(&ctx, ctx.input(2));
    const auto* b = bias ? bias->data() : nullptr;
    if (panels_) {
      if constexpr (std::is_same_v<C, float>)
        convolve_few_pixels(ctx, c_, x.data(), static_cast<const C*>(panels_->raw()), b, y.data());
    } else {
      convolve(ctx, c_, x.data(), computable<T>{&ctx, ctx.input(1)}.data(), b, y.data());
    }
    y.finish();
    return completion::done;
  }

  std::size_t packed_bytes() const noexcept override { return panels_ ? panels_->bytes() : 0; }

private:
  void pack_weights(const C* w) {
    const auto k = c_.in * static_cast<std::size_t>(c_.over.kernel_elements());
    const auto each = packed_size<C>(k, c_.out);
    panels_ = tensor::make(element_type::uint8, {static_cast<std::int64_t>(c_.groups * each * sizeof(C))});
    for (std::size_t group = 0; group < c_.groups; ++group)
      pack(static_cast<C*>(panels_->raw()) + group * each,
           matrix_view<C>{w + group * c_.out * k, 1, static_cast<std::ptrdiff_t>(k)}, k, c_.out);
  }

  const convolution c_;
  const shape y_;
  intrusive_ptr<tensor> panels_; // of transposed weights, for few pixels
};

#ifndef SLUICE_MINI_OPS

/// Winograd's algorithm pays for 3 x 3 kernels with enough channels and pixels (measured: 1.4 to 2.7 times).
bool suits_winograd(const convolution& c) {
  if (c.groups != 1 || c.in < 16 || c.out < 16 || c.over.rank() != 2 || c.over.out_elements() < 49)
    return false;
  return std::all_of(c.over.axes.begin(), c.over.axes.end(), [](const window::axis& a) {
    return a.kernel == 3 && a.stride == 1 && a.dilation == 1 && a.pad_begin <= 1 && a.pad_end <= 1;
  });
}

/// What oneDNN does better than products of matrices, measured with plain inputs and outputs.
std::unique_ptr<prepared_kernel> prepare_onednn(const kernel_request& r, const convolution& c) {
  if (c.batch == 0 || c.in == 0 || c.out == 0 || c.over.out_elements() == 0)
    return nullptr;
  using order = onednn_convolution_options::order;
  const auto blocked = !r.offered.empty() && r.offered[0] == onednn_block();
  onednn_convolution_options options{.blocked_in = blocked, .blocked_out = blocked, .width = r.width};
  const auto& weights = r.op.constant(1);
  const auto make = [&] { return make_onednn_convolution(c, weights, r.op.has_input(2), options); };
  if (suits_winograd(c) && !weights.empty()) {
    options.winograd = true;
    if (auto kernel = make())
      return kernel;
    options.winograd = false;
  }
  if (blocked)
    if (auto kernel = make())
      return kernel;
  options.blocked_in = options.blocked_out = false;
  const auto spreads = c.over.kernel_elements() > 1;
  if (c.groups == 1 && c.in <= 8 && spreads)
    options.channels = order::plain_source;
  else if (c.groups > 1 && c.in == 1 && c.out == 1)
    options.channels = order::blocked; // depthwise
  else if (c.groups > 1 && c.in <= 8 && spreads)
    options.channels = order::last;
  else
    return nullptr;
  return make();
}

#endif

std::unique_ptr<prepared_kernel> prepare_conv(const kernel_request& r) {
  check_operands(r.op);
  auto c = conv_extents(r.op, 1);
  switch (r.op.element(0)) {
  case element_type::float32:
#ifndef SLUICE_MINI_OPS
    if (auto kernel = prepare_onednn(r, c))
      return kernel;
#endif
    return std::make_unique<gemm_convolution<float>>(std::move(c), r.op.constant(1));
  case element_type::float64:
    return std::make_unique<gemm_convolution<double>>(std::move(c), r.op.constant(1));
  case element_type::float16:
    return std::make_unique<gemm_convolution<float16>>(std::move(c), r.op.constant(1));
  default:
    return std::make_unique<gemm_convolution<bfloat16>>(std::move(c), r.op.constant(1));
  }
}

} // namespace

void register_conv(operator_library& lib) {
  lib.add({.name = "Conv", .min_inputs = 2, .max_inputs = 3, .infer = infer_conv, .cost = conv_cost},
          {prepare_conv, false});
}

} // namespace sluice::ops
