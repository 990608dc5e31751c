#pragma once

#include <sluice/ops/dense_kernels.hpp>
#include <sluice/ops/operand.hpp>
#include <sluice/ops/window.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// Folding the elements that a window sees: what all pooling operators share.
namespace sluice::ops {

// Elements read that make a chunk worth handing to another thread.
inline constexpr std::size_t pool_chunk = 1u << 15;

// Ways of folding a window: where to begin, how to take in a row of elements, how to end. `count` is the
// number of elements that the window has for the purposes of an average.

template <class C>
struct fold_max {
  static constexpr C first = std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity()
                                                                  : std::numeric_limits<C>::lowest();
  void row(C* y, const C* x, std::size_t n, std::size_t stride, std::size_t lanes) const {
    if constexpr (std::is_same_v<C, float>)
      dense_loops().max_into(y, x, n, stride, lanes);
    else
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < lanes; ++j)
          y[i * lanes + j] = std::max(y[i * lanes + j], x[i * stride * lanes + j]);
  }
  static constexpr bool finishes = false;
  void merge(C* y, const C* x, std::size_t n, std::size_t stride, std::size_t lanes) const {
    row(y, x, n, stride, lanes);
  }
};

template <class C>
struct fold_average {
  static constexpr C first = 0;
  void row(C* y, const C* x, std::size_t n, std::size_t stride, std::size_t lanes) const {
    if constexpr (std::is_same_v<C, float>)
      dense_loops().add_into(y, x, n, stride, lanes);
    else
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < lanes; ++j)
          y[i * lanes + j] += x[i * stride * lanes + j];
  }
  void merge(C* y, const C* x, std::size_t n, std::size_t stride, std::size_t lanes) const {
    row(y, x, n, stride, lanes);
  }
  static constexpr bool finishes = true;
  void finish(C* y, std::size_t n, std::int64_t count) const {
    const auto divisor = static_cast<C>(std::max<std::int64_t>(1, count));
    for (std::size_t i = 0; i < n; ++i)
      y[i] /= divisor;
  }
};

template <class C>
struct fold_norm {
  static constexpr C first = 0;
  C p;
  void row(C* y, const C* x, std::size_t n, std::size_t stride, std::size_t lanes) const {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < lanes; ++j) {
        const auto a = std::abs(x[i * stride * lanes + j]);
        y[i * lanes + j] += p == 2 ? a * a : p == 1 ? a : std::pow(a, p);
      }
  }
  void merge(C* y, const C* x, std::size_t n, std::size_t stride, std::size_t lanes) const {
    fold_average<C>{}.row(y, x, n, stride, lanes);
  }
  static constexpr bool finishes = true;
  void finish(C* y, std::size_t n, std::int64_t) const {
    for (std::size_t i = 0; i < n; ++i)
      y[i] = p == 2 ? std::sqrt(y[i]) : p == 1 ? y[i] : std::pow(y[i], 1 / p);
  }
};

/// The positions of a kernel that lie inside for one output position of one axis.
struct taps {
  std::int64_t from;  ///< input position of the first
  std::int64_t first; ///< kernel position of the first
  std::int64_t count;
  std::int64_t padded; ///< how many there are if padding counts
};

inline taps taps_at(const window::axis& a, std::int64_t out) {
  const auto start = out * a.stride - a.pad_begin;
  const auto first = start < 0 ? std::min((-start + a.dilation - 1) / a.dilation, a.kernel) : 0;
  const auto inside =
      start >= a.in ? first : std::clamp((a.in - 1 - start) / a.dilation + 1, first, a.kernel);
  const auto padded = std::clamp((a.in + a.pad_end - 1 - start) / a.dilation + 1, first, a.kernel);
  return {start + first * a.dilation, first, inside - first, padded};
}

/// Folds the windows of one plane of items of `lanes` elements: for each row of the output, the input's rows
/// that it sees into one, then that one along itself.
template <class C, class Fold>
class plane_pooling {
public:
  plane_pooling(window w, Fold fold, bool count_padding, std::size_t lanes)
    : w_(std::move(w)), fold_(fold), count_padding_(count_padding), lanes_(lanes) {
    const auto& a = w_.axes.back();
    // Only taps that see anything at all: a hostile kernel may be far larger than the image.
    const auto least = (a.pad_begin - (a.out - 1) * a.stride) / a.dilation;
    const auto most = (a.pad_begin + a.in - 1) / a.dilation;
    for (auto k = std::max<std::int64_t>(0, least); k < a.kernel && k <= most; ++k) {
      const auto start = k * a.dilation - a.pad_begin;
      const auto begin = start < 0 ? std::min((-start + a.stride - 1) / a.stride, a.out) : 0;
      const auto end = start >= a.in ? begin : std::clamp((a.in - 1 - start) / a.stride + 1, begin, a.out);
      if (begin < end)
        runs_.push_back({begin, end, start + begin * a.stride});
    }
    whole_begin_ = std::min((a.pad_begin + a.stride - 1) / a.stride, a.out);
    const auto room = a.in + a.pad_begin - a.reach();
    whole_end_ = std::clamp(room < 0 ? 0 : room / a.stride + 1, whole_begin_, a.out);
  }

  /// Elements of a row of the input, which the caller provides room for.
  [[nodiscard]] std::size_t row_elements() const {
    return static_cast<std::size_t>(w_.axes.back().in) * lanes_;
  }

  void operator()(const C* x, C* y, C* row) const {
    const auto& a = w_.axes.back();
    const auto lanes = static_cast<std::ptrdiff_t>(lanes_);
    const auto rows = a.out == 0 ? 0 : w_.out_elements() / a.out;
    for (std::int64_t r = 0; r < rows; ++r, y += a.out * lanes) {
      std::fill_n(row, row_elements(), Fold::first);
      std::fill_n(y, static_cast<std::size_t>(a.out) * lanes_, Fold::first);
      const auto count = fold_rows(x, row, 0, r, rows);
      for (const auto& taken : runs_)
        fold_.merge(y + taken.begin * lanes, row + taken.from * lanes,
                    static_cast<std::size_t>(taken.end - taken.begin), static_cast<std::size_t>(a.stride),
                    lanes_);
      if constexpr (Fold::finishes) {
        for (std::int64_t i = 0; i < a.out; ++i) {
          if (i == whole_begin_ && whole_begin_ < whole_end_) {
            fold_.finish(y + i * lanes, static_cast<std::size_t>(whole_end_ - i) * lanes_, count * a.kernel);
            i = whole_end_ - 1;
          } else {
            fold_.finish(y + i * lanes, lanes_, count * counted(a, i));
          }
        }
      }
    }
  }

private:
  struct run {
    std::int64_t begin, end; ///< outputs
    std::int64_t from;       ///< input of the first
  };

  [[nodiscard]] std::int64_t counted(const window::axis& a, std::int64_t out) const {
    const auto t = taps_at(a, out);
    return count_padding_ ? t.padded : t.count;
  }

  /// Folds all rows of x, chosen axis by axis, that output row `r` of `rows` sees; returns how many count.
  std::int64_t fold_rows(const C* x, C* row, std::size_t axis, std::int64_t r, std::int64_t rows) const {
    const auto& a = w_.axes[axis];
    if (axis + 1 == w_.axes.size()) {
      fold_.row(row, x, static_cast<std::size_t>(a.in), 1, lanes_);
      return 1;
    }
    rows /= a.out;
    const auto out = r / rows;
    const auto t = taps_at(a, out);
    auto elements = static_cast<std::int64_t>(lanes_);
    for (auto i = axis + 1; i < w_.axes.size(); ++i)
      elements *= w_.axes[i].in;
    std::int64_t inner = 0;
    for (std::int64_t i = 0; i < t.count; ++i)
      inner = fold_rows(x + (t.from + i * a.dilation) * elements, row, axis + 1, r % rows, rows);
    return inner * counted(a, out);
  }

  const window w_;
  const Fold fold_;
  const bool count_padding_;
  const std::size_t lanes_;
  std::vector<run> runs_;        ///< by kernel position of the last axis
  std::int64_t whole_begin_ = 0; ///< outputs of the last axis whose windows lie inside
  std::int64_t whole_end_ = 0;
};

/// The exponent of a norm: a float in the oldest opsets.
inline double norm_exponent(const op_view& op, bool is_float) {
  const auto p = is_float ? static_cast<double>(op.attributes().get<float>("p", 2.0f))
                          : static_cast<double>(op.attributes().get<std::int64_t>("p", 2));
  if (!(p > 0))
    throw error{errc::invalid_graph, "a norm needs p above 0, not " + std::to_string(p)};
  return p;
}

} // namespace sluice::ops
