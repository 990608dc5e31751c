#pragma once

#include <sluice/graph/export.hpp>
#include <sluice/graph/shape.hpp>
#include <sluice/graph/value.hpp>

#include <filesystem>
#include <vector>

namespace sluice {

/// Which axis of an image's shape counts the channels.
enum class channel_axis : std::uint8_t {
  automatic, ///< first where the extent before height and width is 1, 3 or 4, otherwise last
  first,     ///< [N, C, H, W] or [C, H, W]
  last,      ///< [N, H, W, C] or [H, W, C]
};

/// How a picture becomes numbers: `(sample * scale - mean) / deviation`, with samples of 0 to 255.
struct image_options {
  float scale = 1.0f / 255.0f;
  std::vector<float> mean{};      ///< one for each channel, or one for all; none is 0
  std::vector<float> deviation{}; ///< one for each channel, or one for all; none is 1
  channel_axis channels = channel_axis::automatic;
};

/// Reads a picture (PNG, JPEG, BMP, GIF, TGA, PNM) as a float32 tensor of `shape`: [1, C, H, W], [1, H, W,
/// C], [C, H, W], [H, W, C] or [H, W], with one channel (grey), three (red, green, blue) or four (with
/// alpha). A picture of another size is resized, without regard to its proportions.
///
/// Throws errc::io_failed if the file cannot be read, errc::invalid_argument, naming the file, if it is no
/// picture or the shape cannot hold one.
[[nodiscard]] SLUICE_API value load_image(const std::filesystem::path& path, const shape& shape,
                                          const image_options& options = {});

/// How large a picture is, from its head.
struct image_size {
  int height = 0, width = 0, channels = 0;
};

/// Throws as load_image().
[[nodiscard]] SLUICE_API image_size size_of_image(const std::filesystem::path& path);

/// Writes a picture of the shapes that load_image() takes: uint8, or float32 from 0 to 1, which is clamped.
/// Throws errc::invalid_argument for another value, errc::io_failed if the file cannot be written.
SLUICE_API void save_png(const std::filesystem::path& path, const value& image,
                         channel_axis channels = channel_axis::automatic);

} // namespace sluice
