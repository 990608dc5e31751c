#include <sluice/ops/resize_plan.hpp>

#include <algorithm>
#include <cmath>

namespace sluice::ops {

namespace {

template <class E>
E named(const op_view& op, std::string_view attribute, const std::string& otherwise,
        std::initializer_list<std::pair<std::string_view, E>> names) {
  const auto given = op.attributes().get<std::string>(attribute, otherwise);
  for (const auto& [name, e] : names)
    if (given == name)
      return e;
  throw error{errc::invalid_graph, std::string{attribute} + " is '" + given + "'"};
}

mode mode_of(const op_view& op) {
  return named<mode>(op, "mode", "nearest",
                     {{"nearest", mode::nearest},
                      {"linear", mode::linear},
                      {"bilinear", mode::linear},
                      {"trilinear", mode::linear},
                      {"cubic", mode::cubic}});
}

double source_position(const axis_plan& a, coordinates where, std::int64_t out) {
  const auto x = static_cast<double>(out);
  const auto in = static_cast<double>(a.in);
  const auto last = a.length - 1;
  switch (where) {
  case coordinates::half_pixel:
    return (x + 0.5) / a.scale - 0.5;
  case coordinates::pytorch_half_pixel:
    return a.out > 1 ? (x + 0.5) / a.scale - 0.5 : 0;
  case coordinates::align_corners:
    return a.out > 1 ? x * (in - 1) / last : 0;
  case coordinates::asymmetric:
    return x / a.scale;
  case coordinates::tf_half_pixel_for_nn:
    return (x + 0.5) / a.scale;
  case coordinates::tf_crop_and_resize:
    return a.out > 1 ? a.start * (in - 1) + x * (a.end - a.start) * (in - 1) / last
                     : 0.5 * (a.start + a.end) * (in - 1);
  }
  return x;
}

std::int64_t nearest_position(double x, rounding r) {
  switch (r) {
  case rounding::round_prefer_floor:
    return static_cast<std::int64_t>(std::ceil(x - 0.5));
  case rounding::round_prefer_ceil:
    return static_cast<std::int64_t>(std::floor(x + 0.5));
  case rounding::floor:
    return static_cast<std::int64_t>(std::floor(x));
  case rounding::ceil:
    return static_cast<std::int64_t>(std::ceil(x));
  }
  return 0;
}

} // namespace

resize_options old_resize_options(const op_view& op) {
  return {.how = mode_of(op)};
}

resize_options resize_options_of(const op_view& op) {
  resize_options o{.how = mode_of(op)};
  o.where = named<coordinates>(op, "coordinate_transformation_mode", "half_pixel",
                               {{"half_pixel", coordinates::half_pixel},
                                {"pytorch_half_pixel", coordinates::pytorch_half_pixel},
                                {"align_corners", coordinates::align_corners},
                                {"asymmetric", coordinates::asymmetric},
                                {"tf_half_pixel_for_nn", coordinates::tf_half_pixel_for_nn},
                                {"tf_crop_and_resize", coordinates::tf_crop_and_resize}});
  o.nearest = named<rounding>(op, "nearest_mode", "round_prefer_floor",
                              {{"round_prefer_floor", rounding::round_prefer_floor},
                               {"round_prefer_ceil", rounding::round_prefer_ceil},
                               {"floor", rounding::floor},
                               {"ceil", rounding::ceil}});
  o.cubic_a = static_cast<double>(op.attributes().get<float>("cubic_coeff_a", -0.75f));
  o.exclude_outside = op.attributes().get<std::int64_t>("exclude_outside", 0) != 0;
  o.extrapolation = static_cast<double>(op.attributes().get<float>("extrapolation_value", 0.0f));
  return o;
}

std::vector<axis_plan> plan_axes(const shape& x, const resize_request& r, coordinates where) {
  const auto rank = x.rank();
  const auto expect = [&](std::size_t n, std::size_t wanted, const char* what) {
    if (n != wanted)
      throw error{errc::kernel_failed, std::to_string(n) + " " + what + " for " + to_string(x)};
  };
  std::vector<axis_plan> axes(rank);
  for (std::size_t i = 0; i < rank; ++i)
    axes[i] = {.in = x[i], .out = x[i], .length = static_cast<double>(x[i])};
  if (where == coordinates::tf_crop_and_resize) {
    if (r.roi.empty())
      throw error{errc::kernel_failed, "tf_crop_and_resize needs a region of interest"};
    expect(r.roi.size(), 2 * rank, "bounds of a region");
    for (std::size_t i = 0; i < rank; ++i) {
      axes[i].start = static_cast<double>(r.roi[i]);
      axes[i].end = static_cast<double>(r.roi[i + rank]);
      if (!std::isfinite(axes[i].start) || !std::isfinite(axes[i].end))
        throw error{errc::kernel_failed, "a region of interest without end"};
    }
  }
  if (!r.sizes.empty()) {
    expect(r.sizes.size(), rank, "sizes");
    for (std::size_t i = 0; i < rank; ++i) {
      axes[i].out = r.sizes[i];
      axes[i].length = static_cast<double>(axes[i].out);
      axes[i].scale =
          static_cast<double>(axes[i].out) / static_cast<double>(std::max<std::int64_t>(1, axes[i].in));
    }
  } else if (!r.scales.empty()) {
    expect(r.scales.size(), rank, "scales");
    for (std::size_t i = 0; i < rank; ++i) {
      axes[i].scale = static_cast<double>(r.scales[i]);
      // In floats, as everybody computes it: 10 * 0.7f is 7.
      const auto part = static_cast<float>(axes[i].end - axes[i].start);
      axes[i].length = static_cast<double>(static_cast<float>(axes[i].in) * part * r.scales[i]);
      const auto out = std::floor(axes[i].length);
      if (!(axes[i].scale > 0) || !(out >= 0) || out > 0x1p40)
        throw error{errc::kernel_failed, "axis " + std::to_string(i) + " of " + to_string(x) + " scaled by " +
                                             std::to_string(axes[i].scale)};
      axes[i].out = static_cast<std::int64_t>(out);
    }
  } else {
    throw error{errc::kernel_failed, "neither sizes nor scales are given"};
  }
  for (const auto& a : axes)
    if (a.out < 0 || (a.in == 0 && a.out > 0))
      throw error{errc::kernel_failed,
                  "an extent of " + std::to_string(a.in) + " resized to " + std::to_string(a.out)};
  return axes;
}

shape plan_shape(const std::vector<axis_plan>& axes, std::size_t done) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < axes.size(); ++i)
    dims.push_back(i < done ? axes[i].out : axes[i].in);
  return shape{dims};
}

axis_weights::axis_weights(const axis_plan& a, const resize_options& o) {
  taps = o.how == mode::nearest ? 1 : o.how == mode::linear ? 2 : 4;
  const auto n = static_cast<std::size_t>(a.out) * taps;
  from.reserve(n);
  weight.reserve(n);
  for (std::int64_t i = 0; i < a.out; ++i) {
    const auto x = source_position(a, o.where, i);
    if (o.where == coordinates::tf_crop_and_resize) {
      outside.resize(static_cast<std::size_t>(a.out));
      outside[static_cast<std::size_t>(i)] = x < 0 || x > static_cast<double>(a.in - 1);
    }
    if (o.how == mode::nearest)
      add(a, nearest_position(x, o.nearest), 1);
    else if (o.how == mode::linear)
      add_linear(a, x);
    else
      add_cubic(a, x, o);
  }
}

void axis_weights::add(const axis_plan& a, std::int64_t position, double w) {
  from.push_back(std::clamp<std::int64_t>(position, 0, a.in - 1));
  weight.push_back(w);
}

void axis_weights::add_linear(const axis_plan& a, double x) {
  x = std::clamp(x, 0.0, static_cast<double>(a.in - 1));
  const auto low = static_cast<std::int64_t>(x);
  const auto part = x - static_cast<double>(low);
  add(a, low, 1 - part);
  add(a, low + 1, part);
}

/// Keys' cubic convolution: R. Keys, "Cubic convolution interpolation for digital image processing", 1981.
void axis_weights::add_cubic(const axis_plan& a, double x, const resize_options& o) {
  const auto low = std::floor(x);
  const auto t = x - low;
  const auto c = o.cubic_a;
  const auto near = [&](double d) { return ((c + 2) * d - (c + 3)) * d * d + 1; };
  const auto far = [&](double d) { return ((c * d - 5 * c) * d + 8 * c) * d - 4 * c; };
  double w[4] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  const auto first = static_cast<std::int64_t>(std::clamp(low, -1e15, 1e15)) - 1;
  if (o.exclude_outside) {
    double sum = 0;
    for (std::int64_t k = 0; k < 4; ++k) {
      if (first + k < 0 || first + k >= a.in)
        w[k] = 0;
      sum += w[k];
    }
    for (auto& each : w)
      each = sum == 0 ? 0 : each / sum;
  }
  for (std::int64_t k = 0; k < 4; ++k)
    add(a, first + k, w[k]);
}

} // namespace sluice::ops
