#pragma once

#include <sluice/graph/export.hpp>
#include <sluice/graph/value.hpp>

#include <filesystem>
#include <optional>
#include <string_view>

namespace sluice {

/// Sound as it was read.
struct sound {
  value samples; ///< float32 from -1 to 1: [samples], or [channels, samples] if not mixed
  int rate = 0;  ///< samples a second, of one channel
};

struct sound_options {
  bool mono = true;          ///< mix all channels into one, by their mean
  std::optional<int> rate{}; ///< refuse a file of another rate: nothing is resampled
};

/// Reads a sound file (WAV, also FLAC, AIFF, Ogg).
///
/// Throws errc::io_failed if it cannot be read, errc::invalid_argument, naming the file, if it is no sound
/// file or has another rate than asked for.
[[nodiscard]] SLUICE_API sound load_sound(const std::filesystem::path& path,
                                          const sound_options& options = {});

/// Reads a file of signed 16-bit little-endian samples without a head, channels interleaved: float32
/// [samples], or [channels, samples] for more than one. Throws errc::invalid_argument if the file does not
/// hold whole samples of every channel.
[[nodiscard]] SLUICE_API value load_pcm16(const std::filesystem::path& path, int channels = 1);

/// The same from bytes; `name` is what errors call them.
[[nodiscard]] SLUICE_API value decode_pcm16(std::string_view bytes, std::string_view name, int channels = 1);

} // namespace sluice
