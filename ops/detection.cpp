#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>
#include <cmath>

namespace sluice::ops {

namespace {

// NonMaxSuppression

struct box {
  float top;
  float left;
  float bottom;
  float right;

  [[nodiscard]] float area() const { return (bottom - top) * (right - left); }
};

/// The box in four numbers: two opposite corners (y, x), or centre (x, y), width and height.
box box_of(const float* b, bool by_centre) {
  if (by_centre)
    return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

/// Intersection over union.
float overlap(const box& a, const box& b) {
  const auto height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const auto width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0)
    return 0;
  const auto common = height * width;
  return common / (a.area() + b.area() - common);
}

std::vector<value_type> infer_nms(const op_view&) {
  return {{element_type::int64, {dim{}, dim{3}}}};
}

kernel_entry nms_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel(
        [by_centre = r.op.attributes().get<std::int64_t>("center_point_box", 0) != 0](kernel_context& ctx) {
          const auto boxes = ctx.input(0).data<float>();
          const auto scores = ctx.input(1).data<float>();
          const auto& s = ctx.input(1).shape();
          if (s.rank() != 3 || ctx.input(0).shape() != shape{s[0], s[2], 4})
            throw error{errc::kernel_failed, "boxes " + to_string(ctx.input(0).shape()) + " and scores " +
                                                 to_string(s) + " do not fit"};
          const auto most = ctx.has_input(2) ? ctx.input_value(2).scalar<std::int64_t>() : 0;
          const auto most_overlap = ctx.has_input(3) ? ctx.input_value(3).scalar<float>() : 0.0F;
          const auto least_score = ctx.has_input(4) ? ctx.input_value(4).scalar<float>() : -INFINITY;
          std::vector<std::int64_t> selected;
          for (std::int64_t batch = 0; batch < s[0]; ++batch)
            for (std::int64_t group = 0; group < s[1]; ++group) {
              const auto* score = scores.data() + (batch * s[1] + group) * s[2];
              const auto* corners = boxes.data() + batch * s[2] * 4;
              std::vector<std::int64_t> candidates;
              for (std::int64_t i = 0; i < s[2]; ++i)
                if (score[i] > least_score)
                  candidates.push_back(i);
              std::stable_sort(candidates.begin(), candidates.end(),
                               [&](std::int64_t a, std::int64_t b) { return score[a] > score[b]; });
              std::vector<box> kept;
              for (const auto i : candidates) {
                if (static_cast<std::int64_t>(kept.size()) >= most)
                  break;
                const auto candidate = box_of(corners + i * 4, by_centre);
                if (std::any_of(kept.begin(), kept.end(),
                                [&](const box& k) { return overlap(k, candidate) > most_overlap; }))
                  continue;
                kept.push_back(candidate);
                selected.insert(selected.end(), {batch, group, i});
              }
            }
          auto& out = ctx.output(0, element_type::int64, {static_cast<std::int64_t>(selected.size() / 3), 3});
          std::copy(selected.begin(), selected.end(), out.data<std::int64_t>().begin());
        });
  }};
}

// RoiAlign

struct roi_options {
  std::int64_t height;
  std::int64_t width;
  std::int64_t sampling; ///< points along a cell's side; 0: as many as the cell has pixels
  float scale;
  float offset; ///< of pixel centres
  bool maximum;
};

roi_options roi_options_of(const op_view& op) {
  const auto& a = op.attributes();
  const auto mode = a.get<std::string>("mode", "avg");
  if (mode != "avg" && mode != "max")
    throw error{errc::unsupported, "mode '" + mode + "' is neither avg nor max"};
  const auto half = a.get<std::string>("coordinate_transformation_mode",
                                       op.opset() >= 16 ? "half_pixel" : "output_half_pixel") == "half_pixel";
  roi_options o{a.get<std::int64_t>("output_height", 1),
                a.get<std::int64_t>("output_width", 1),
                a.get<std::int64_t>("sampling_ratio", 0),
                a.get<float>("spatial_scale", 1.0F),
                half ? 0.5F : 0.0F,
                mode == "max"};
  if (o.height < 1 || o.width < 1 || o.sampling < 0)
    throw error{errc::invalid_graph, "an output size or sampling ratio below its least value"};
  return o;
}

std::vector<value_type> infer_roi_align(const op_view& op) {
  const auto o = roi_options_of(op);
  const auto& x = op.shape(0);
  const auto& rois = op.shape(1);
  return {{op.element(0),
           {rois.has_rank() && rois.rank() == 2 ? rois[0] : dim{},
            x.has_rank() && x.rank() == 4 ? x[1] : dim{}, o.height, o.width}}};
}

/// A point of an image between four pixels.
struct sample_point {
  std::array<std::int64_t, 4> pixels{};
  std::array<float, 4> weights{};

  sample_point(float y, float x, std::int64_t height, std::int64_t width) {
    if (!(y >= -1 && y <= static_cast<float>(height) && x >= -1 && x <= static_cast<float>(width)))
      return; // outside counts as zero
    y = std::clamp(y, 0.0F, static_cast<float>(height - 1));
    x = std::clamp(x, 0.0F, static_cast<float>(width - 1));
    const auto top = static_cast<std::int64_t>(y);
    const auto left = static_cast<std::int64_t>(x);
    const auto bottom = std::min(top + 1, height - 1);
    const auto right = std::min(left + 1, width - 1);
    const auto dy = y - static_cast<float>(top);
    const auto dx = x - static_cast<float>(left);
    pixels = {top * width + left, top * width + right, bottom * width + left, bottom * width + right};
    weights = {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx};
  }
};

/// One region's output for all channels.
void align_region(const roi_options& o, const float* roi, const float* image, const shape& s, float* out) {
  const auto at = [&](std::size_t i) { return roi[i] * o.scale - o.offset; };
  auto width = at(2) - at(0);
  auto height = at(3) - at(1);
  if (o.offset == 0.0F) { // the older meaning has no region below one pixel
    width = std::max(width, 1.0F);
    height = std::max(height, 1.0F);
  }
  const auto cell_height = height / static_cast<float>(o.height);
  const auto cell_width = width / static_cast<float>(o.width);
  const auto points = [&](float cell) {
    constexpr float most = 4096; // of a region far larger than any image
    const auto pixels = cell > 0 ? std::min(std::ceil(cell), most) : 0.0F;
    return o.sampling > 0 ? o.sampling : static_cast<std::int64_t>(pixels);
  };
  const auto rows = points(cell_height);
  const auto columns = points(cell_width);
  const auto count = static_cast<float>(std::max<std::int64_t>(1, rows * columns));
  for (std::int64_t i = 0; i < o.height; ++i)
    for (std::int64_t j = 0; j < o.width; ++j) {
      std::vector<sample_point> samples;
      for (std::int64_t p = 0; p < rows; ++p)
        for (std::int64_t q = 0; q < columns; ++q) {
          const auto inside = [](std::int64_t cell, float size, std::int64_t k, std::int64_t n) {
            return (static_cast<float>(cell) + (static_cast<float>(k) + 0.5F) / static_cast<float>(n)) * size;
          };
          samples.emplace_back(at(1) + inside(i, cell_height, p, rows),
                               at(0) + inside(j, cell_width, q, columns), s[2], s[3]);
        }
      for (std::int64_t channel = 0; channel < s[1]; ++channel) {
        const auto* pixels = image + channel * s[2] * s[3];
        float sum = 0;
        auto largest = samples.empty() ? 0.0F : -INFINITY;
        for (const auto& sample : samples)
          for (std::size_t k = 0; k < 4; ++k) {
            const auto weighted = sample.weights[k] * pixels[sample.pixels[k]];
            sum += weighted;
            largest = std::max(largest, weighted);
          }
        out[(channel * o.height + i) * o.width + j] = o.maximum ? largest : sum / count;
      }
    }
}

kernel_entry roi_align_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([o = roi_options_of(r.op)](kernel_context& ctx) {
      const auto& s = ctx.input(0).shape();
      const auto image = ctx.input(0).data<float>();
      const auto rois = ctx.input(1).data<float>();
      auto batches = integers_of(ctx.input(2));
      const auto count = static_cast<std::int64_t>(batches.size());
      if (s.rank() != 4 || s[2] * s[3] == 0 || ctx.input(1).shape() != shape{count, 4})
        throw error{errc::kernel_failed, "an image " + to_string(s) + " and regions " +
                                             to_string(ctx.input(1).shape()) + " for " +
                                             std::to_string(count) + " batch indices do not fit"};
      for (auto& b : batches)
        b = index_of(b, s[0]);
      auto& out = ctx.output(0, element_type::float32, {count, s[1], o.height, o.width});
      auto* target = out.data<float>().data();
      const auto run = s[1] * o.height * o.width;
      ctx.parallel_for(batches.size(), grain_for(16 * run), [&](std::size_t begin, std::size_t end) {
        for (auto i = begin; i < end; ++i)
          align_region(o, rois.data() + i * 4, image.data() + batches[i] * s.product(1, 4), s,
                       target + static_cast<std::int64_t>(i) * run);
      });
    });
  }};
}

} // namespace

void register_detection(operator_library& lib) {
  lib.add(
      {.name = "NonMaxSuppression", .since_opset = 10, .min_inputs = 2, .max_inputs = 5, .infer = infer_nms},
      nms_kernel());
  lib.add({.name = "RoiAlign", .since_opset = 10, .min_inputs = 3, .max_inputs = 3, .infer = infer_roi_align},
          roi_align_kernel());
}

} // namespace sluice::ops
