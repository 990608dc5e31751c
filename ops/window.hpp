#pragma once

#include <sluice/graph/op_schema.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice::ops {

/// A window that slides over the spatial axes of an image: geometry of convolutions and pooling.
struct window {
  /// One spatial axis. Extents are -1 where not known.
  struct axis {
    std::int64_t in = -1;
    std::int64_t out = -1;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t dilation = 1;
    std::int64_t pad_begin = 0;
    std::int64_t pad_end = 0;

    /// What the kernel covers, holes included.
    [[nodiscard]] std::int64_t reach() const noexcept { return (kernel - 1) * dilation + 1; }
  };

  std::vector<axis> axes;

  [[nodiscard]] std::size_t rank() const noexcept { return axes.size(); }
  [[nodiscard]] std::int64_t in_elements() const noexcept;
  [[nodiscard]] std::int64_t out_elements() const noexcept;
  [[nodiscard]] std::int64_t kernel_elements() const noexcept;
};

/// What a node says of its window, and the operators' conventions.
struct window_options {
  bool ceil_mode = false; ///< a last window that is only partly inside counts
};

/// The window that a node's attributes (strides, dilations, pads, auto_pad) describe over `spatial` (the
/// extents of input 0 after batch and channels) with a kernel of `kernel` elements an axis.
/// Throws errc::invalid_graph for attributes that mean nothing or a kernel that does not fit.
[[nodiscard]] window make_window(const op_view& op, std::span<const dim> spatial,
                                 std::span<const std::int64_t> kernel, const window_options& options = {});

/// An attribute with one integer for each of `rank` axes, at least `least` each; `otherwise` for all if it is
/// not there. Throws errc::invalid_graph.
[[nodiscard]] std::vector<std::int64_t> axis_attribute(const op_view& op, std::string_view name,
                                                       std::size_t rank, std::int64_t least,
                                                       std::int64_t otherwise);

/// The spatial extents of a shape: all but batch and channels. Throws errc::invalid_graph below rank 3.
[[nodiscard]] std::span<const dim> spatial_dims(const partial_shape& s);

} // namespace sluice::ops
