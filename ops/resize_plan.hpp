#pragma once

#include <sluice/graph/op_schema.hpp>

#include <cstdint>
#include <vector>

/// Where the elements of a resized tensor come from. The formulas are those of ONNX's Resize.
namespace sluice::ops {

enum class mode { nearest, linear, cubic };
enum class coordinates {
  half_pixel,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize
};
enum class rounding { round_prefer_floor, round_prefer_ceil, floor, ceil };

/// How a node resizes; the operators and opsets differ in where this stands.
struct resize_options {
  mode how = mode::nearest;
  coordinates where = coordinates::asymmetric;
  rounding nearest = rounding::floor;
  double cubic_a = -0.75;
  bool exclude_outside = false;
  double extrapolation = 0;
};

/// Upsample and Resize before opset 11.
[[nodiscard]] resize_options old_resize_options(const op_view& op);
/// Resize from opset 11 on. Both throw errc::invalid_graph for a word that they do not know.
[[nodiscard]] resize_options resize_options_of(const op_view& op);

/// Where an axis's output comes from.
struct axis_plan {
  std::int64_t in = 1;
  std::int64_t out = 1;
  double scale = 1;
  double length = 1; ///< of the output, before it is rounded down: ONNX places corners by it
  double start = 0;  ///< region of interest, as a part of the extent
  double end = 1;

  [[nodiscard]] bool unchanged() const { return in == out && scale == 1 && start == 0 && end == 1; }
};

/// What the inputs of one execution (or of inference, where they are known) ask for; empty where not given.
struct resize_request {
  std::vector<float> roi{};
  std::vector<float> scales{};
  std::vector<std::int64_t> sizes{};
};

/// One plan an axis. Throws errc::kernel_failed for numbers that mean nothing.
[[nodiscard]] std::vector<axis_plan> plan_axes(const shape& x, const resize_request& r, coordinates where);

/// The shape when the first `done` axes are resized.
[[nodiscard]] shape plan_shape(const std::vector<axis_plan>& axes, std::size_t done);

/// One axis's outputs as weighted sums of inputs.
struct axis_weights {
  std::size_t taps = 1;
  std::vector<std::int64_t> from; ///< `taps` for each output
  std::vector<double> weight;
  std::vector<char> outside; ///< by output: it lies outside and takes the constant; empty if none does

  axis_weights(const axis_plan& a, const resize_options& o);

private:
  void add(const axis_plan& a, std::int64_t position, double w);
  void add_linear(const axis_plan& a, double x);
  void add_cubic(const axis_plan& a, double x, const resize_options& o);
};

} // namespace sluice::ops
