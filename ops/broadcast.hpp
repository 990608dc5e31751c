#pragma once

#include <sluice/devices/kernel_context.hpp>
#include <sluice/graph/shape.hpp>
#include <sluice/ops/elementwise.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace sluice::ops {

/// How up to three arrays are walked together under numpy's broadcasting: the fewest axes that describe it,
/// and along the innermost of them each array either advances element by element or stands still.
class broadcast_plan {
public:
  static constexpr std::size_t max_arrays = 3;

  /// Throws errc::kernel_failed, naming the shapes, if they do not broadcast.
  explicit broadcast_plan(std::initializer_list<shape> arrays);

  [[nodiscard]] const shape& output() const noexcept { return output_; }

  /// True if array `i` advances along a run.
  [[nodiscard]] bool advances(std::size_t i) const noexcept { return axes_[0].strides[i] != 0; }

  /// Cuts elements [begin, end) of the output into runs and calls `body(offsets, first, n)` for each: the
  /// output's elements [first, first + n) come from the arrays' elements at `offsets` (and those that follow,
  /// where the array advances).
  template <class Body>
  void for_each_run(std::size_t begin, std::size_t end, Body&& body) const {
    if (begin >= end)
      return;
    const auto run = axes_[0].extent;
    auto row = begin / run;
    auto within = begin % run;
    offsets at{};
    offsets from{};
    std::array<std::size_t, shape::max_rank> position{};
    for (std::size_t k = 1; k < rank_; ++k) {
      position[k] = row % axes_[k].extent;
      row /= axes_[k].extent;
      for (std::size_t i = 0; i < max_arrays; ++i)
        at[i] += position[k] * axes_[k].strides[i];
    }
    for (;;) {
      const auto n = std::min(run - within, end - begin);
      for (std::size_t i = 0; i < max_arrays; ++i)
        from[i] = at[i] + within * axes_[0].strides[i];
      body(from, begin, n);
      begin += n;
      within = 0;
      if (begin >= end)
        return;
      next_row(position, at);
    }
  }

  using offsets = std::array<std::size_t, max_arrays>;

private:
  struct axis {
    std::size_t extent = 1;
    offsets strides{};
  };

  void next_row(std::array<std::size_t, shape::max_rank>& position, offsets& at) const noexcept {
    for (std::size_t k = 1; k < rank_; ++k) {
      for (std::size_t i = 0; i < max_arrays; ++i)
        at[i] += axes_[k].strides[i];
      if (++position[k] < axes_[k].extent)
        return;
      for (std::size_t i = 0; i < max_arrays; ++i)
        at[i] -= axes_[k].extent * axes_[k].strides[i];
      position[k] = 0;
    }
  }

  shape output_;
  std::size_t rank_ = 1; // innermost axis first; at least one
  std::array<axis, shape::max_rank> axes_{};
};

/// Calls `body` for all runs of the plan's output, as broadcast_plan::for_each_run does; threads share the
/// chunks.
template <class Body>
void for_each_run(kernel_context& ctx, const broadcast_plan& plan, const Body& body) {
  ctx.parallel_for(static_cast<std::size_t>(plan.output().elements()), elements_per_chunk,
                   [&](std::size_t begin, std::size_t end) { plan.for_each_run(begin, end, body); });
}

/// Before opset 7: `b` as it aligns with `a` when its first axis is `a`'s axis `axis` (-1: the last axes of
/// `a`). Throws errc::kernel_failed if it does not fit.
[[nodiscard]] shape aligned(const shape& a, const shape& b, std::int64_t axis);

} // namespace sluice::ops
