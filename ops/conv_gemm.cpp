#include <sluice/ops/conv_gemm.hpp>

#include <sluice/ops/gemm.hpp>
#include <sluice/ops/operand.hpp>

#include <algorithm>
#include <cstring>

namespace sluice::ops {

namespace {

constexpr std::size_t k_block = 1024;
constexpr std::size_t strip_panels = 4;
constexpr std::size_t chunk_work = 1u << 18; // multiplications

/// A run of output pixels that lie in one row of the image and in one panel.
struct segment {
  std::size_t panel;
  std::size_t lane;
  std::size_t length;
  std::size_t pixel; ///< number of the first one in the image
};

/// Where a segment's pixels come from for one position of the kernel: elements [first, last) are inside.
struct source {
  std::ptrdiff_t offset; ///< of the segment's first pixel in a channel, be it inside or not
  std::size_t first;
  std::size_t last;
};

/// Gathers the columns of pixels [begin, end) of one image and group into panels.
template <class C>
class column_gatherer {
public:
  explicit column_gatherer(const window& over)
    : over_(over), kernel_(static_cast<std::size_t>(over.kernel_elements())),
      stride_(over.axes.back().stride) {}

  void select(std::size_t begin, std::size_t end) {
    segments_.clear();
    const auto row = static_cast<std::size_t>(over_.axes.back().out);
    for (auto pixel = begin; pixel < end;) {
      const auto at = pixel - begin;
      const auto lane = at % panel_width<C>;
      const auto length = std::min({panel_width<C> - lane, row - pixel % row, end - pixel});
      segments_.push_back({at / panel_width<C>, lane, length, pixel});
      pixel += length;
    }
    last_lanes_ = (end - begin) % panel_width<C>;
    sources_.clear();
    for (std::size_t k = 0; k < kernel_; ++k)
      for (const auto& s : segments_)
        sources_.push_back(source_of(s, k));
  }

  /// Rows [k, k + n) of the columns, where row = channel * kernel elements + kernel element.
  void gather(const C* image, std::size_t k, std::size_t n, C* to) const {
    const auto channel_elements = over_.in_elements();
    for (std::size_t row = 0; row < n; ++row, ++k) {
      const auto* channel = image + static_cast<std::ptrdiff_t>(k / kernel_) * channel_elements;
      const auto* from = sources_.data() + k % kernel_ * segments_.size();
      for (std::size_t i = 0; i < segments_.size(); ++i) {
        const auto& s = segments_[i];
        copy(channel, from[i], s.length, to + (s.panel * n + row) * panel_width<C> + s.lane);
      }
      if (last_lanes_ > 0) {
        auto* panel = to + (segments_.back().panel * n + row) * panel_width<C>;
        std::fill(panel + last_lanes_, panel + panel_width<C>, C{});
      }
    }
  }

  /// The same as rows of pixels: to[pixel][k].
  void gather_rows(const C* image, std::size_t channels, C* to) const {
    const auto channel_elements = over_.in_elements();
    const auto k = channels * kernel_;
    for (std::size_t position = 0; position < kernel_; ++position)
      for (std::size_t i = 0; i < segments_.size(); ++i) {
        const auto& s = segments_[i];
        const auto& from = sources_[position * segments_.size() + i];
        for (std::size_t j = 0; j < s.length; ++j) {
          auto* row = to + (s.pixel + j) * k + position;
          const auto inside = j >= from.first && j < from.last;
          const auto* source = image + (inside ? from.offset + static_cast<std::ptrdiff_t>(j) * stride_ : 0);
          for (std::size_t channel = 0; channel < channels; ++channel, source += channel_elements)
            row[channel * kernel_] = inside ? *source : C{};
        }
      }
  }

private:
  source source_of(const segment& s, std::size_t k) const {
    const auto& row = over_.axes.back();
    auto kernel = static_cast<std::int64_t>(k);
    auto pixel = static_cast<std::int64_t>(s.pixel);
    const auto start = pixel % row.out * row.stride + kernel % row.kernel * row.dilation - row.pad_begin;
    kernel /= row.kernel;
    pixel /= row.out;
    std::int64_t offset = start;
    std::int64_t elements = row.in;
    for (auto axis = over_.axes.size() - 1; axis-- > 0;) {
      const auto& a = over_.axes[axis];
      const auto at = pixel % a.out * a.stride + kernel % a.kernel * a.dilation - a.pad_begin;
      kernel /= a.kernel;
      pixel /= a.out;
      if (at < 0 || at >= a.in)
        return {0, 0, 0};
      offset += at * elements;
      elements *= a.in;
    }
    const auto length = static_cast<std::int64_t>(s.length);
    const auto first = start < 0 ? std::min((-start + row.stride - 1) / row.stride, length) : 0;
    const auto last =
        start >= row.in ? first : std::clamp((row.in - 1 - start) / row.stride + 1, first, length);
    return {offset, static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
  }

  void copy(const C* channel, const source& from, std::size_t length, C* to) const {
    if (stride_ == 1 && from.first == 0 && from.last == panel_width<C>) {
      std::memcpy(to, channel + from.offset, 64);
      return;
    }
    for (std::size_t i = 0; i < from.first; ++i)
      to[i] = C{};
    for (auto i = from.first; i < from.last; ++i)
      to[i] = channel[from.offset + static_cast<std::ptrdiff_t>(i) * stride_];
    for (auto i = from.last; i < length; ++i)
      to[i] = C{};
  }

  const window& over_;
  const std::size_t kernel_;
  const std::ptrdiff_t stride_;
  std::vector<segment> segments_;
  std::vector<source> sources_; ///< by kernel element, then segment
  std::size_t last_lanes_ = 0;
};

/// The same convolution with as few axes as possible: a kernel of one element sees a row of pixels.
convolution flattened(const convolution& c) {
  for (const auto& a : c.over.axes)
    if (a.kernel != 1 || a.stride != 1 || a.pad_begin != 0 || a.pad_end != 0)
      return c;
  auto flat = c;
  flat.over.axes = {{.in = c.over.in_elements(), .out = c.over.out_elements()}};
  return flat;
}

template <class C>
void set_bias(C* y, std::size_t rows, std::size_t row, std::size_t pixels, const C* bias) {
  for (std::size_t i = 0; i < rows; ++i)
    std::fill_n(y + i * row, pixels, bias[i]);
}

} // namespace

template <class C>
void convolve(const kernel_context& ctx, const convolution& given, const C* x, const C* w, const C* bias,
              C* y) {
  const auto c = flattened(given);
  const auto pixels = static_cast<std::size_t>(c.over.out_elements());
  const auto in_pixels = static_cast<std::size_t>(c.over.in_elements());
  const auto k = c.in * static_cast<std::size_t>(c.over.kernel_elements());
  if (pixels == 0 || c.out == 0)
    return;
  constexpr auto strip = strip_panels * panel_width<C>;
  const auto strips = (pixels + strip - 1) / strip;
  const auto strip_work = std::max<std::size_t>(1, strip * k * c.out);
  const auto grain = std::max<std::size_t>(1, chunk_work / strip_work);
  ctx.parallel_for(c.batch * c.groups * strips, grain, [&](std::size_t begin, std::size_t end) {
    column_gatherer<C> columns{c.over};
    const scratch_array<C> gathered{ctx, std::min(k_block, k) * strip};
    for (auto i = begin; i < end; ++i) {
      const auto group = i / strips; // of an image: batch * groups of them
      const auto first = i % strips * strip;
      const auto count = std::min(strip, pixels - first);
      const auto first_channel = group % c.groups * c.out;
      const auto* image = x + group * c.in * in_pixels;
      auto* to = y + group * c.out * pixels + first;
      columns.select(first, first + count);
      if (bias)
        set_bias(to, c.out, pixels, count, bias + first_channel);
      for (std::size_t at = 0; at == 0 || at < k; at += k_block) {
        const auto rows = std::min(k_block, k - at);
        columns.gather(image, at, rows, gathered.data());
        multiply_here(matrix_product<C>{.m = c.out,
                                        .n = count,
                                        .k = rows,
                                        .a = {w + first_channel * k + at, static_cast<std::ptrdiff_t>(k), 1},
                                        .b = right_side<C>::packed(gathered.data(), rows),
                                        .c = to,
                                        .c_row = static_cast<std::ptrdiff_t>(pixels),
                                        .accumulate = bias || at > 0});
      }
    }
  });
}

template <class C>
void convolve_few_pixels(const kernel_context& ctx, const convolution& c, const C* x, const C* w_panels,
                         const C* bias, C* y) {
  const auto pixels = static_cast<std::size_t>(c.over.out_elements());
  const auto in_pixels = static_cast<std::size_t>(c.over.in_elements());
  const auto k = c.in * static_cast<std::size_t>(c.over.kernel_elements());
  if (pixels == 0 || c.out == 0)
    return;
  const scratch_array<C> rows{ctx, c.batch * c.groups * pixels * k};
  const scratch_array<C> turned{ctx, c.batch * c.groups * pixels * c.out};
  column_gatherer<C> columns{c.over};
  columns.select(0, pixels);
  for (std::size_t i = 0; i < c.batch * c.groups; ++i)
    columns.gather_rows(x + i * c.in * in_pixels, c.in, rows.data() + i * pixels * k);
  // Images that meet the same weights are one product.
  const auto images = c.groups == 1 ? c.batch : 1;
  std::vector<matrix_product<C>> products;
  for (std::size_t i = 0; i < c.batch * c.groups; i += images) {
    const auto group = i % c.groups;
    products.push_back({.m = images * pixels,
                        .n = c.out,
                        .k = k,
                        .a = {rows.data() + i * pixels * k, static_cast<std::ptrdiff_t>(k), 1},
                        .b = right_side<C>::packed(w_panels + group * packed_size<C>(k, c.out), k),
                        .c = turned.data() + i * pixels * c.out,
                        .c_row = static_cast<std::ptrdiff_t>(c.out)});
  }
  multiply<C>(ctx, products);
  for (std::size_t i = 0; i < c.batch * c.groups; ++i)
    for (std::size_t channel = 0; channel < c.out; ++channel) {
      const auto add = bias ? bias[i % c.groups * c.out + channel] : C{};
      for (std::size_t pixel = 0; pixel < pixels; ++pixel)
        y[(i * c.out + channel) * pixels + pixel] =
            turned.data()[(i * pixels + pixel) * c.out + channel] + add;
    }
}

template void convolve(const kernel_context&, const convolution&, const float*, const float*, const float*,
                       float*);
template void convolve(const kernel_context&, const convolution&, const double*, const double*, const double*,
                       double*);
template void convolve(const kernel_context&, const convolution&, const std::uint32_t*, const std::uint32_t*,
                       const std::uint32_t*, std::uint32_t*);
template void convolve_few_pixels(const kernel_context&, const convolution&, const float*, const float*,
                                  const float*, float*);

} // namespace sluice::ops
