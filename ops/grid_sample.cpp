#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>
#include <cmath>

namespace sluice::ops {

namespace {

enum class interpolation { linear, nearest, cubic };
enum class outside { zeros, border, reflection };

struct sampling {
  interpolation mode;
  outside padding;
  bool align_corners;
};

sampling sampling_of(const attribute_map& a) {
  const auto mode = a.get<std::string>("mode", "bilinear");
  const auto padding = a.get<std::string>("padding_mode", "zeros");
  sampling s{};
  if (mode == "bilinear" || mode == "linear")
    s.mode = interpolation::linear;
  else if (mode == "nearest")
    s.mode = interpolation::nearest;
  else if (mode == "bicubic" || mode == "cubic")
    s.mode = interpolation::cubic;
  else
    throw error{errc::unsupported, "sampling mode '" + mode + "' is not known"};
  if (padding == "zeros")
    s.padding = outside::zeros;
  else if (padding == "border")
    s.padding = outside::border;
  else if (padding == "reflection")
    s.padding = outside::reflection;
  else
    throw error{errc::unsupported, "padding mode '" + padding + "' is not known"};
  s.align_corners = a.get<std::int64_t>("align_corners", 0) != 0;
  return s;
}

std::vector<value_type> infer_grid_sample(const op_view& op) {
  const auto& x = op.shape(0);
  const auto& grid = op.shape(1);
  if ((x.has_rank() && x.rank() != 4) || (grid.has_rank() && grid.rank() != 4))
    throw error{errc::unsupported, "only images with two axes can be sampled"};
  const auto known = [](const partial_shape& s, std::size_t i) { return s.has_rank() ? s[i] : dim{}; };
  return {{op.element(0), {known(x, 0), known(x, 1), known(grid, 1), known(grid, 2)}}};
}

/// One axis of the image.
template <class T>
struct sampled_axis {
  std::int64_t extent;
  sampling how;

  /// From [-1, 1] to pixels.
  [[nodiscard]] T pixel(T x) const {
    const auto n = static_cast<T>(extent);
    return how.align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  }

  /// Reflects at the corners' centres or edges.
  [[nodiscard]] T reflected(T x) const {
    const auto low = how.align_corners ? T{0} : T(-0.5);
    const auto length = static_cast<T>(extent) - (how.align_corners ? T{1} : T{0});
    if (length <= 0)
      return 0;
    const auto phase = std::fmod(std::abs(x - low), 2 * length);
    return low + (phase > length ? 2 * length - phase : phase);
  }

  /// The pixel that counts for a place that may lie outside; -1 for none.
  [[nodiscard]] std::int64_t source(T place) const {
    if (place >= 0 && place <= static_cast<T>(extent - 1))
      return static_cast<std::int64_t>(place);
    if (how.padding == outside::zeros)
      return -1;
    const auto inside = how.padding == outside::reflection ? reflected(place) : place;
    if (std::isnan(inside))
      return -1;
    return static_cast<std::int64_t>(std::clamp(inside, T{0}, static_cast<T>(extent - 1)));
  }

  /// What of the axis makes the sample at x: up to four pixels with their weights.
  struct taps {
    std::array<std::int64_t, 4> pixels{};
    std::array<T, 4> weights{};
    std::size_t count = 0;

    void add(std::int64_t pixel, T weight) {
      pixels[count] = pixel;
      weights[count++] = weight;
    }
  };

  [[nodiscard]] taps at(T grid) const {
    auto x = pixel(grid);
    taps t;
    if (how.mode == interpolation::nearest) {
      t.add(source(std::nearbyint(x)), T{1});
      return t;
    }
    if (how.mode == interpolation::linear) {
      if (how.padding == outside::border)
        x = std::clamp(x, T{0}, static_cast<T>(extent - 1));
      else if (how.padding == outside::reflection)
        x = reflected(x);
      const auto low = std::floor(x);
      t.add(source(low), low + 1 - x);
      t.add(source(low + 1), x - low);
      return t;
    }
    const auto low = std::floor(x);
    constexpr T a = T(-0.75); // of the cubic convolution
    const auto near = [](T d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    const auto far = [](T d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    const auto d = x - low;
    t.add(source(low - 1), far(d + 1));
    t.add(source(low), near(d));
    t.add(source(low + 1), near(1 - d));
    t.add(source(low + 2), far(2 - d));
    return t;
  }
};

template <class T>
void sample(const kernel_context& ctx, const sampling& how, const shape& s, const T* image, const T* grid,
            std::int64_t points, T* out) {
  const sampled_axis<T> rows{s[2], how};
  const sampled_axis<T> columns{s[3], how};
  const auto plane = s[2] * s[3];
  ctx.parallel_for(
      static_cast<std::size_t>(s[0] * points), grain_for(8 * s[1]), [&](std::size_t begin, std::size_t end) {
        for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
          const auto across = columns.at(grid[i * 2]);
          const auto down = rows.at(grid[i * 2 + 1]);
          const auto batch = i / points;
          for (std::int64_t channel = 0; channel < s[1]; ++channel) {
            const auto* pixels = image + (batch * s[1] + channel) * plane;
            T sum{0};
            for (std::size_t r = 0; r < down.count; ++r)
              for (std::size_t c = 0; c < across.count; ++c)
                if (down.pixels[r] >= 0 && across.pixels[c] >= 0)
                  sum +=
                      down.weights[r] * across.weights[c] * pixels[down.pixels[r] * s[3] + across.pixels[c]];
            out[(batch * s[1] + channel) * points + i % points] = sum;
          }
        }
      });
}

kernel_entry grid_sample_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([how = sampling_of(r.op.attributes())](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto& s = in.shape();
      const auto& g = ctx.input(1).shape();
      if (s.rank() != 4 || g.rank() != 4 || g[0] != s[0] || g[3] != 2 || ctx.input(1).type() != in.type() ||
          s[2] * s[3] == 0)
        throw error{errc::kernel_failed, "an image " + describe(ctx.input_value(0)) +
                                             " cannot be sampled by a grid " + describe(ctx.input_value(1))};
      auto& out = ctx.output(0, in.type(), {s[0], s[1], g[1], g[2]});
      visit_among(type_list<float, double>{}, in.type(), [&]<class T>(std::type_identity<T>) {
        sample(ctx, how, s, in.data<T>().data(), ctx.input(1).data<T>().data(), g[1] * g[2],
               out.data<T>().data());
      });
    });
  }};
}

} // namespace

void register_grid_sample(operator_library& lib) {
  lib.add({.name = "GridSample",
           .since_opset = 16,
           .min_inputs = 2,
           .max_inputs = 2,
           .infer = infer_grid_sample,
           .cost = elementwise_cost(12)},
          grid_sample_kernel());
}

} // namespace sluice::ops
