#include "augment.hpp"

#include <sluice/graph/tensor.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <span>

namespace digits {

namespace {

constexpr std::int64_t side = 28;
constexpr std::size_t pixels_each = side * side;
constexpr double most_degrees = 10, most_shift = 1.5;

/// The pixel at a place between pixels, paper outside.
float pixel_at(std::span<const float> image, double row, double column) {
  const auto top = std::floor(row);
  const auto left = std::floor(column);
  double sum = 0;
  for (const auto r : {top, top + 1})
    for (const auto c : {left, left + 1})
      if (r >= 0 && r < side && c >= 0 && c < side)
        sum += (1 - std::abs(row - r)) * (1 - std::abs(column - c)) *
               static_cast<double>(image[static_cast<std::size_t>(r) * side + static_cast<std::size_t>(c)]);
  return static_cast<float>(sum);
}

/// `from` turned and shifted: each pixel is fetched from where it comes from.
void move(std::span<const float> from, std::span<float> to, double degrees, double down, double right) {
  constexpr double centre = (side - 1) / 2.0;
  const auto angle = degrees * std::numbers::pi / 180;
  const auto sine = std::sin(angle);
  const auto cosine = std::cos(angle);
  for (std::int64_t r = 0; r < side; ++r)
    for (std::int64_t c = 0; c < side; ++c) {
      const auto y = static_cast<double>(r) - centre - down;
      const auto x = static_cast<double>(c) - centre - right;
      to[static_cast<std::size_t>(r * side + c)] =
          pixel_at(from, centre + cosine * y - sine * x, centre + sine * y + cosine * x);
    }
}

} // namespace

images augmented(const images& from, std::int64_t count, std::uint64_t seed) {
  const auto source = from.pixels.tensor().data<float>();
  const auto originals = source.size() / pixels_each;
  std::mt19937_64 random{seed};
  // Not std::uniform_real_distribution, which differs between standard libraries.
  const auto within = [&random](double most) {
    return (static_cast<double>(random() >> 11) * 0x1p-53 * 2 - 1) * most;
  };
  images made;
  auto pixels = sluice::tensor::make(sluice::element_type::float32, {count, 1, side, side});
  const auto to = pixels->data<float>();
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto image = source.subspan(i % originals * pixels_each, pixels_each);
    const auto target = to.subspan(i * pixels_each, pixels_each);
    if (i < originals)
      std::copy(image.begin(), image.end(), target.begin());
    else
      move(image, target, within(most_degrees), within(most_shift), within(most_shift));
    if (!from.labels.empty())
      made.labels.push_back(from.labels[i % originals]);
  }
  made.pixels = std::move(pixels);
  return made;
}

} // namespace digits
