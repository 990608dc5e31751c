#include <sluice/ops/conv_onednn.hpp>

#include <sluice/devices/cpu_level.hpp>
#include <sluice/devices/kernel_context.hpp>
#include <sluice/devices/library_team.hpp>
#include <sluice/ops/onednn.hpp>

#include <algorithm>
#include <optional>

namespace sluice::ops {

namespace {

using tag = dnnl::memory::format_tag;
constexpr auto f32 = dnnl::memory::data_type::f32;

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

struct format {
  tag plain;
  tag blocked;
  tag last;
  tag weights;
  tag grouped_weights;
};

format format_for(std::size_t spatial) {
  const auto wide = onednn_block() == layout::nchw16c;
  switch (spatial) {
  case 1:
    return {tag::ncw, wide ? tag::nCw16c : tag::nCw8c, tag::nwc, tag::oiw, tag::goiw};
  case 2:
    return {tag::nchw, wide ? tag::nChw16c : tag::nChw8c, tag::nhwc, tag::oihw, tag::goihw};
  default:
    return {tag::ncdhw, wide ? tag::nCdhw16c : tag::nCdhw8c, tag::ndhwc, tag::oidhw, tag::goidhw};
  }
}

/// A convolution's shapes as oneDNN wants them.
struct extents {
  dnnl::memory::dims x, w, y, bias, strides, dilations, pad_begin, pad_end;

  explicit extents(const convolution& c) {
    const auto n = [](std::size_t v) { return static_cast<std::int64_t>(v); };
    x = {n(c.batch), n(c.groups * c.in)};
    y = {n(c.batch), n(c.groups * c.out)};
    bias = {n(c.groups * c.out)};
    w = {n(c.out), n(c.in)};
    if (c.groups > 1)
      w.insert(w.begin(), n(c.groups));
    for (const auto& a : c.over.axes) {
      x.push_back(a.in);
      y.push_back(a.out);
      w.push_back(a.kernel);
      strides.push_back(a.stride);
      dilations.push_back(a.dilation - 1);
      pad_begin.push_back(a.pad_begin);
      pad_end.push_back((a.out - 1) * a.stride + a.reach() - a.in - a.pad_begin);
    }
  }
};

dnnl::convolution_forward::primitive_desc describe_convolution(const extents& e, tag x, tag y, bool has_bias,
                                                               dnnl::algorithm algorithm) {
  const dnnl::memory::desc from{e.x, f32, x};
  const dnnl::memory::desc weights{e.w, f32, tag::any};
  const dnnl::memory::desc to{e.y, f32, y};
  const dnnl::memory::desc bias = has_bias ? dnnl::memory::desc{e.bias, f32, tag::x} : dnnl::memory::desc{};
  const dnnl::convolution_forward::desc what{dnnl::prop_kind::forward_inference,
                                             algorithm,
                                             from,
                                             weights,
                                             bias,
                                             to,
                                             e.strides,
                                             e.dilations,
                                             e.pad_begin,
                                             e.pad_end};
  return {what, with_user_scratch(), onednn_engine()};
}

dnnl::reorder make_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  return dnnl::reorder{{onednn_engine(), from, onednn_engine(), to}};
}

/// What is the same at every width.
struct onednn_plan {
  dnnl::memory::desc plain_x, plain_y, plain_w;
  bool has_bias = false;
  bool blocked_in = false;
  bool blocked_out = false;
  bool constant_weights = false;
  std::size_t x_at = 0, y_at = 0, w_at = 0, scratch_at = 0; ///< in the scratch memory
};

/// The primitives for one width, which they keep from their creation.
struct onednn_primitives {
  dnnl::convolution_forward::primitive_desc chosen;
  dnnl::convolution_forward convolve;
  std::optional<dnnl::reorder> in;
  std::optional<dnnl::reorder> out;
  std::optional<dnnl::reorder> pack;

  onednn_primitives(const dnnl::convolution_forward::primitive_desc& description, const onednn_plan& p)
    : chosen(description), convolve(description) {
    if (chosen.src_desc() != p.plain_x && !p.blocked_in)
      in = make_reorder(p.plain_x, chosen.src_desc());
    if (chosen.dst_desc() != p.plain_y && !p.blocked_out)
      out = make_reorder(chosen.dst_desc(), p.plain_y);
    if (chosen.weights_desc() != p.plain_w)
      pack = make_reorder(p.plain_w, chosen.weights_desc());
  }
};

class onednn_convolution final : public prepared_kernel {
public:
  onednn_convolution(onednn_plan p, onednn_primitives narrow, std::optional<onednn_primitives> wide,
                     unsigned width, const value& weights, kernel_traits traits)
    : prepared_kernel(std::move(traits)), p_(std::move(p)), narrow_(std::move(narrow)),
      wide_(std::move(wide)), width_(width) {
    if (!p_.constant_weights || !narrow_.pack)
      return;
    const auto& layout = narrow_.chosen.weights_desc();
    packed_ = tensor::make(element_type::uint8, {static_cast<std::int64_t>(layout.get_size())});
    auto from = memory_at(p_.plain_w, weights.tensor().raw());
    auto to = memory_at(layout, packed_->raw());
    narrow_.pack->execute(onednn_stream(), from, to);
  }

  completion execute(kernel_context& ctx) const override {
    with_onednn_errors(errc::kernel_failed, [&] {
      if (wide_ && ctx.thread() && ctx.width() >= width_ &&
          library_team::try_run(*ctx.thread(), width_, [&] { run(ctx, *wide_); }))
        return;
      library_team::run_alone([&] {
        const library_width one{1};
        run(ctx, narrow_);
      });
    });
    return completion::done;
  }

  std::size_t packed_bytes() const noexcept override { return packed_ ? packed_->bytes() : 0; }

private:
  void run(kernel_context& ctx, const onednn_primitives& with) const {
    auto& stream = onednn_stream();
    auto x = memory_at(with.in ? p_.plain_x : with.chosen.src_desc(), ctx.input(0).raw());
    if (with.in) {
      auto blocked = memory_at(with.chosen.src_desc(), ctx.scratch() + p_.x_at);
      with.in->execute(stream, x, blocked);
      x = blocked;
    }
    auto w = memory_at(with.chosen.weights_desc(), packed_ ? packed_->raw() : ctx.input(1).raw());
    if (with.pack && !packed_) {
      auto plain = memory_at(p_.plain_w, ctx.input(1).raw());
      w = memory_at(with.chosen.weights_desc(), ctx.scratch() + p_.w_at);
      with.pack->execute(stream, plain, w);
    }
    const shape y_shape{p_.plain_y.dims()};
    auto& y = p_.blocked_out ? ctx.output_laid_out(0, element_type::float32, y_shape, onednn_block(),
                                                   with.chosen.dst_desc().get_size())
                             : ctx.output(0, y_shape);
    const auto to =
        memory_at(with.chosen.dst_desc(), with.out ? static_cast<void*>(ctx.scratch() + p_.y_at) : y.raw());
    std::unordered_map<int, dnnl::memory> arguments{
        {DNNL_ARG_SRC, x},
        {DNNL_ARG_WEIGHTS, w},
        {DNNL_ARG_DST, to},
        {DNNL_ARG_SCRATCHPAD, memory_at(with.chosen.scratchpad_desc(), ctx.scratch() + p_.scratch_at)}};
    if (p_.has_bias)
      arguments.emplace(DNNL_ARG_BIAS, memory_at(with.chosen.bias_desc(), ctx.input(2).raw()));
    with.convolve.execute(stream, arguments);
    if (with.out) {
      auto blocked = to;
      auto plain = memory_at(p_.plain_y, y.raw());
      with.out->execute(stream, blocked, plain);
    }
  }

  const onednn_plan p_;
  const onednn_primitives narrow_;
  const std::optional<onednn_primitives> wide_;
  const unsigned width_;
  intrusive_ptr<tensor> packed_;
};

} // namespace

layout onednn_block() noexcept {
  return supported_cpu_level() == cpu_level::v4 ? layout::nchw16c : layout::nchw8c;
}

std::unique_ptr<prepared_kernel> make_onednn_convolution(const convolution& c, const value& weights,
                                                         bool has_bias,
                                                         const onednn_convolution_options& options) try {
  if (c.over.rank() < 1 || c.over.rank() > 3)
    return nullptr;
  const extents e{c};
  const auto formats = format_for(c.over.rank());
  using order = onednn_convolution_options::order;
  const auto y_tag = options.channels == order::last ? formats.last : formats.blocked;
  const auto x_tag = options.channels == order::plain_source ? formats.plain : y_tag;
  const auto describe = [&](unsigned width) {
    const library_width here{width};
    return describe_convolution(e, x_tag, y_tag, has_bias,
                                options.winograd ? dnnl::algorithm::convolution_winograd
                                                 : dnnl::algorithm::convolution_direct);
  };
  const auto alone = describe(1);
  if (!is_fast(alone.impl_info_str()))
    return nullptr;
  const auto shared = options.width > 1 ? describe(options.width) : alone;
  // One copy of the weights serves both widths.
  const auto wide =
      options.width > 1 && is_fast(shared.impl_info_str()) && shared.weights_desc() == alone.weights_desc();
  onednn_plan p{.plain_x = {e.x, f32, formats.plain},
                .plain_y = {e.y, f32, formats.plain},
                .plain_w = {e.w, f32, c.groups > 1 ? formats.grouped_weights : formats.weights},
                .has_bias = has_bias,
                .blocked_in = options.blocked_in,
                .blocked_out = options.blocked_out,
                .constant_weights = !weights.empty()};
  kernel_traits traits;
  traits.batch_invariant = false; // the blocking of the work may depend on it
  const auto reserve = [&](std::size_t bytes) {
    const auto at = traits.scratch_bytes;
    traits.scratch_bytes += aligned(bytes);
    return at;
  };
  p.x_at = reserve(options.blocked_in ? 0 : alone.src_desc().get_size());
  p.y_at = reserve(options.blocked_out ? 0 : alone.dst_desc().get_size());
  p.w_at = reserve(weights.empty() ? alone.weights_desc().get_size() : 0);
  p.scratch_at = reserve(std::max(alone.scratchpad_desc().get_size(), shared.scratchpad_desc().get_size()));
  if (options.blocked_in)
    traits.wants = {onednn_block()};
  if (options.blocked_out)
    traits.gives = {onednn_block()};
  const auto make = [&](const auto& description, unsigned width) {
    const library_width here{width};
    return onednn_primitives{description, p};
  };
  std::optional<onednn_primitives> for_team;
  if (wide)
    for_team = make(shared, options.width);
  const library_width one{1}; // for packing the weights
  auto for_one = make(alone, 1);
  return std::make_unique<onednn_convolution>(std::move(p), std::move(for_one), std::move(for_team),
                                              options.width, weights, std::move(traits));
} catch (const dnnl::error&) {
  return nullptr; // it has none at all for these shapes
}

} // namespace sluice::ops
