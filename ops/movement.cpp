#include <sluice/ops/movement.hpp>

#include <emmintrin.h>

#include <algorithm>
#include <array>

namespace sluice::ops {

namespace {

/// A box with its axes merged and ordered for the inner loop that suits it.
struct walk {
  std::array<std::int64_t, 2 * shape::max_rank> extents{};
  std::array<std::int64_t, 2 * shape::max_rank> sources{};
  std::array<std::int64_t, 2 * shape::max_rank> targets{};
  std::size_t rank = 0;

  void push(std::int64_t extent, std::int64_t source, std::int64_t target) {
    if (extent == 1)
      return;
    if (rank > 0 && sources[rank - 1] == source * extent && targets[rank - 1] == target * extent) {
      extents[rank - 1] *= extent;
      sources[rank - 1] = source;
      targets[rank - 1] = target;
      return;
    }
    extents[rank] = extent;
    sources[rank] = source;
    targets[rank] = target;
    ++rank;
  }

  void move_axis(std::size_t from, std::size_t to) {
    const auto rotate = [&](auto& a) { std::rotate(&a[from], &a[from] + 1, &a[to] + 1); };
    rotate(extents);
    rotate(sources);
    rotate(targets);
  }
};

/// Calls f(source offset, target offset) for positions [first, last) of the outer axes of `w`.
template <class F>
void each_position(const walk& w, std::size_t axes, std::int64_t first, std::int64_t last, F f) {
  std::array<std::int64_t, 2 * shape::max_rank> index{};
  std::int64_t source = 0;
  std::int64_t target = 0;
  auto rest = first;
  for (auto a = axes; a-- > 0;) {
    index[a] = rest % w.extents[a];
    rest /= w.extents[a];
    source += index[a] * w.sources[a];
    target += index[a] * w.targets[a];
  }
  for (auto i = first; i < last; ++i) {
    f(source, target);
    for (auto a = axes; a-- > 0;) {
      source += w.sources[a];
      target += w.targets[a];
      if (++index[a] < w.extents[a])
        break;
      source -= w.extents[a] * w.sources[a];
      target -= w.extents[a] * w.targets[a];
      index[a] = 0;
    }
  }
}

template <class T>
void copy_row(const T* source, std::int64_t source_stride, T* target, std::int64_t target_stride,
              std::int64_t n) {
  if (source_stride == 1 && target_stride == 1)
    std::copy_n(source, n, target);
  else if (source_stride == 0 && target_stride == 1)
    std::fill_n(target, n, *source);
  else
    for (std::int64_t i = 0; i < n; ++i)
      target[i * target_stride] = source[i * source_stride];
}

/// Four by four elements of 32 bits.
void transpose_block(const std::uint32_t* source, std::int64_t source_stride, std::uint32_t* target,
                     std::int64_t target_stride) {
  const auto load = [&](std::int64_t i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i * source_stride));
  };
  const auto store = [&](std::int64_t i, __m128i x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i * target_stride), x);
  };
  const auto a = load(0);
  const auto b = load(1);
  const auto c = load(2);
  const auto d = load(3);
  const auto ab_low = _mm_unpacklo_epi32(a, b);
  const auto cd_low = _mm_unpacklo_epi32(c, d);
  const auto ab_high = _mm_unpackhi_epi32(a, b);
  const auto cd_high = _mm_unpackhi_epi32(c, d);
  store(0, _mm_unpacklo_epi64(ab_low, cd_low));
  store(1, _mm_unpackhi_epi64(ab_low, cd_low));
  store(2, _mm_unpacklo_epi64(ab_high, cd_high));
  store(3, _mm_unpackhi_epi64(ab_high, cd_high));
}

template <class T>
void transpose_block(const T* source, std::int64_t source_stride, T* target, std::int64_t target_stride) {
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t j = 0; j < 4; ++j)
      target[i * target_stride + j] = source[j * source_stride + i];
}

/// target[r][c] = source[c][r] for `rows` by `columns` of the target. Columns go in strips, so that the lines
/// of the source that a strip touches stay in the first cache while the rows pass.
template <class T>
void transpose(const T* source, std::int64_t source_stride, T* target, std::int64_t target_stride,
               std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t strip = 32;
  for (std::int64_t first = 0; first < columns; first += strip) {
    const auto last = std::min(columns, first + strip);
    const auto whole = first + (last - first) / 4 * 4;
    std::int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      for (auto c = first; c < whole; c += 4)
        transpose_block(source + c * source_stride + r, source_stride, target + r * target_stride + c,
                        target_stride);
      for (auto c = whole; c < last; ++c)
        for (auto i = r; i < r + 4; ++i)
          target[i * target_stride + c] = source[c * source_stride + i];
    }
    for (; r < rows; ++r)
      for (auto c = first; c < last; ++c)
        target[r * target_stride + c] = source[c * source_stride + r];
  }
}

} // namespace

template <class T>
void strided_copy::run_typed(const kernel_context& ctx, const T* source, T* target) const {
  walk w;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    if (extents_[i] == 0)
      return;
    w.push(extents_[i], sources_[i], targets_[i]);
  }
  if (w.rank == 0)
    w.push(2, 0, 0), w.extents[0] = 1;
  const auto inner = w.rank - 1;
  auto inner_axes = std::size_t{1};
  if (w.targets[inner] == 1 && w.sources[inner] != 1 && w.sources[inner] != 0)
    for (std::size_t k = 0; k < inner; ++k)
      if (w.sources[k] == 1) {
        w.move_axis(k, inner - 1);
        inner_axes = 2;
        break;
      }

  // The outermost inner axis is cut in blocks too, so that one long row or one big matrix has chunks.
  const auto outer_axes = w.rank - inner_axes;
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < outer_axes; ++i)
    outer *= w.extents[i];
  const auto cut = w.extents[outer_axes];
  const auto row = inner_axes == 2 ? w.extents[inner] : 1;
  const auto block = std::min(cut, static_cast<std::int64_t>((grain_for(row) + 15) / 16 * 16));
  const auto blocks = (cut + block - 1) / block;
  ctx.parallel_for(static_cast<std::size_t>(outer * blocks), grain_for(block * row),
                   [&](std::size_t begin, std::size_t end) {
                     const auto first = static_cast<std::int64_t>(begin);
                     const auto last = static_cast<std::int64_t>(end);
                     auto position = first % blocks; // of the block in its row
                     each_position(w, outer_axes, first / blocks, (last + blocks - 1) / blocks,
                                   [&, left = last - first](std::int64_t s, std::int64_t t) mutable {
                                     for (; position < blocks && left > 0; ++position, --left) {
                                       const auto at = position * block;
                                       const auto n = std::min(block, cut - at);
                                       const auto* from = source + s + at * w.sources[outer_axes];
                                       auto* to = target + t + at * w.targets[outer_axes];
                                       if (inner_axes == 2)
                                         transpose(from, w.sources[inner], to, w.targets[outer_axes], n,
                                                   w.extents[inner]);
                                       else
                                         copy_row(from, w.sources[inner], to, w.targets[inner], n);
                                     }
                                     position = 0;
                                   });
                   });
}

void strided_copy::run(const kernel_context& ctx, element_type type, const void* source, void* target) const {
  visit_element_size(type, [&]<class T>(std::type_identity<T>) {
    run_typed(ctx, static_cast<const T*>(source), static_cast<T*>(target));
  });
}

void permute(const kernel_context& ctx, element_type type, const shape& s,
             std::span<const std::size_t> permutation, const void* source, void* target) {
  const auto strides = strides_of(s);
  auto apart = s.elements();
  strided_copy copy;
  for (const auto axis : permutation) {
    apart /= std::max<std::int64_t>(1, s[axis]);
    copy.axis(s[axis], strides[axis], apart);
  }
  copy.run(ctx, type, source, target);
}

void copy_elements(element_type type, const void* source, void* target, std::int64_t n) {
  visit_element_size(type, [&]<class T>(std::type_identity<T>) {
    std::copy_n(static_cast<const T*>(source), n, static_cast<T*>(target));
  });
}

axis_list strides_of(const shape& s) {
  axis_list strides(s.rank());
  std::int64_t apart = 1;
  for (auto i = s.rank(); i-- > 0; apart *= s[i])
    strides[i] = apart;
  return strides;
}

std::vector<std::int64_t> integers_of(const tensor& t) {
  if (t.type() == element_type::int64) {
    const auto elements = t.data<std::int64_t>();
    return {elements.begin(), elements.end()};
  }
  if (t.type() == element_type::int32) {
    const auto elements = t.data<std::int32_t>();
    return {elements.begin(), elements.end()};
  }
  throw error{errc::kernel_failed,
              "integers are needed where a tensor of " + std::string{to_string(t.type())} + " is given"};
}

std::vector<std::int64_t> integers_of(const kernel_context& ctx, std::size_t i,
                                      const std::vector<std::int64_t>& otherwise) {
  return ctx.has_input(i) ? integers_of(ctx.input(i)) : otherwise;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r)
    throw error{errc::kernel_failed,
                "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(r)};
  return static_cast<std::size_t>(axis < 0 ? axis + r : axis);
}

void index_out_of_range(std::int64_t index, std::int64_t extent) {
  throw error{errc::kernel_failed, "index " + std::to_string(index) +
                                       " is out of range for an axis of extent " + std::to_string(extent)};
}

} // namespace sluice::ops
