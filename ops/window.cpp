#include <sluice/ops/window.hpp>

#include <algorithm>

namespace sluice::ops {

namespace {

// Far beyond any image, and small enough that sums and products of two do not overflow.
constexpr std::int64_t most = std::int64_t{1} << 30;

std::int64_t product(const window& w, std::int64_t window::axis::*extent) {
  std::int64_t n = 1;
  for (const auto& a : w.axes)
    n *= a.*extent;
  return n;
}

void pad_to_same(window::axis& a, bool extra_at_end) {
  if (a.in < 0)
    return;
  a.out = (a.in + a.stride - 1) / a.stride;
  const auto total = std::max<std::int64_t>(0, (a.out - 1) * a.stride + a.reach() - a.in);
  a.pad_begin = extra_at_end ? total / 2 : total - total / 2;
  a.pad_end = total - a.pad_begin;
}

void count_windows(window::axis& a, bool ceil_mode) {
  if (a.in < 0)
    return;
  const auto room = a.in + a.pad_begin + a.pad_end - a.reach();
  if (room < 0)
    throw error{errc::invalid_graph, "a kernel that covers " + std::to_string(a.reach()) +
                                         " does not fit into an extent of " + std::to_string(a.in) +
                                         " padded by " + std::to_string(a.pad_begin) + " and " +
                                         std::to_string(a.pad_end)};
  a.out = room / a.stride + 1;
  if (!ceil_mode || room % a.stride == 0)
    return;
  // One more, unless it would see nothing but the padding at the end.
  if (a.out * a.stride < a.in + a.pad_begin)
    ++a.out;
}

} // namespace

std::int64_t window::in_elements() const noexcept {
  return product(*this, &axis::in);
}
std::int64_t window::out_elements() const noexcept {
  return product(*this, &axis::out);
}
std::int64_t window::kernel_elements() const noexcept {
  return product(*this, &axis::kernel);
}

std::vector<std::int64_t> axis_attribute(const op_view& op, std::string_view name, std::size_t rank,
                                         std::int64_t least, std::int64_t otherwise) {
  const auto* given = op.attributes().find<std::vector<std::int64_t>>(name);
  if (!given || given->empty())
    return std::vector<std::int64_t>(rank, otherwise);
  if (given->size() != rank)
    throw error{errc::invalid_graph, "attribute " + std::string{name} + " has " +
                                         std::to_string(given->size()) + " numbers, not " +
                                         std::to_string(rank)};
  for (const auto n : *given)
    if (n < least || n > most)
      throw error{errc::invalid_graph,
                  "attribute " + std::string{name} + " has the number " + std::to_string(n)};
  return *given;
}

std::span<const dim> spatial_dims(const partial_shape& s) {
  if (s.rank() < 3)
    throw error{errc::invalid_graph, "an image " + to_string(s) + " without spatial axes"};
  return std::span{s.dims()}.subspan(2);
}

window make_window(const op_view& op, std::span<const dim> spatial, std::span<const std::int64_t> kernel,
                   const window_options& options) {
  const auto rank = spatial.size();
  if (kernel.size() != rank)
    throw error{errc::invalid_graph, "a kernel of " + std::to_string(kernel.size()) +
                                         " axes over an image of " + std::to_string(rank)};
  const auto strides = axis_attribute(op, "strides", rank, 1, 1);
  const auto dilations = axis_attribute(op, "dilations", rank, 1, 1);
  const auto pads = axis_attribute(op, "pads", 2 * rank, 0, 0);
  const auto auto_pad = op.attributes().get<std::string>("auto_pad", "NOTSET");
  window w;
  for (std::size_t i = 0; i < rank; ++i) {
    window::axis a{
        .in = spatial[i].extent(), .kernel = kernel[i], .stride = strides[i], .dilation = dilations[i]};
    if (a.kernel < 1 || a.kernel > most || a.in > most)
      throw error{errc::invalid_graph, "a kernel of extent " + std::to_string(a.kernel) +
                                           " over an extent of " + std::to_string(a.in)};
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      pad_to_same(a, auto_pad == "SAME_UPPER");
    } else if (auto_pad == "NOTSET" || auto_pad == "VALID" || auto_pad.empty()) {
      if (auto_pad != "VALID") {
        a.pad_begin = pads[i];
        a.pad_end = pads[i + rank];
      }
      count_windows(a, options.ceil_mode);
    } else {
      throw error{errc::invalid_graph, "auto_pad is '" + auto_pad + "'"};
    }
    w.axes.push_back(a);
  }
  return w;
}

} // namespace sluice::ops
