#pragma once

#include "augment.hpp"

#include <cstdint>
#include <filesystem>
#include <span>

namespace digits {

/// Reads images: a .npz with `images` and perhaps `labels`, a .npy of the images, or a .csv with 784 columns
/// of pixels, or one of labels in front of them. Pixels are bytes, or numbers from 0 to 1.
///
/// Throws sluice::error, naming the file and what it should hold.
[[nodiscard]] images load_images(const std::filesystem::path& file);

/// Writes `ImageId,Label` and a line for each image, counted from 1. Throws sluice::error if it cannot be
/// written.
void save_labels(const std::filesystem::path& file, std::span<const std::int64_t> labels);

/// A file of this example, looked for in the current folder and above the program. Throws sluice::error,
/// saying where it was looked for.
[[nodiscard]] std::filesystem::path find_file(const std::filesystem::path& name);

} // namespace digits
