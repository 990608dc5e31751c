#include <sluice/stream/image_file.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/stream/file_bytes.hpp>

#include <stb_image.h>
#include <stb_image_resize.h>
#include <stb_image_write.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

namespace sluice {

namespace {

constexpr std::int64_t most_pixels = std::int64_t{1} << 26; // a picture of 1 GiB as RGBA floats
constexpr std::size_t most_pixels_per_byte = 10'000; // deflate packs 8 pixels of one bit 1,032 times over

/// Where height, width and channels are in a shape.
struct image_extents {
  std::int64_t channels = 1, height = 0, width = 0;
  bool channels_first = true;

  [[nodiscard]] std::size_t pixels() const { return static_cast<std::size_t>(height * width); }
  /// The place of channel `c` of pixel `p` in the tensor.
  [[nodiscard]] std::size_t place(std::size_t p, std::size_t c) const {
    return channels_first ? c * pixels() + p : p * static_cast<std::size_t>(channels) + c;
  }
};

bool channel_count(std::int64_t n) {
  return n == 1 || n == 3 || n == 4;
}

image_extents extents_of(const shape& s, channel_axis axis) {
  const auto refuse = [&](std::string_view why) -> error {
    return {errc::invalid_argument, "a shape " + to_string(s) + " cannot hold an image: " + std::string{why}};
  };
  auto dims = s.dims();
  if (dims.size() == 4) {
    if (dims[0] != 1)
      throw refuse("its first extent must be 1");
    dims = dims.subspan(1);
  }
  image_extents e;
  if (dims.size() == 2) {
    e.height = dims[0];
    e.width = dims[1];
  } else if (dims.size() == 3) {
    e.channels_first =
        axis == channel_axis::first || (axis == channel_axis::automatic && channel_count(dims[0]));
    const auto spatial = dims.subspan(e.channels_first ? 1 : 0, 2);
    e.channels = e.channels_first ? dims[0] : dims[2];
    e.height = spatial[0];
    e.width = spatial[1];
  } else {
    throw refuse("it must have two to four extents");
  }
  if (!channel_count(e.channels))
    throw refuse("it must have 1, 3 or 4 channels");
  if (e.height < 1 || e.width < 1 || e.height > most_pixels / e.width)
    throw refuse("its height or width is out of range");
  return e;
}

float nth(const std::vector<float>& numbers, std::size_t channel, float otherwise) {
  return numbers.empty() ? otherwise : numbers.size() == 1 ? numbers.front() : numbers[channel];
}

void check_options(const image_options& options, std::int64_t channels) {
  for (const auto* numbers : {&options.mean, &options.deviation})
    if (numbers->size() > 1 && numbers->size() != static_cast<std::size_t>(channels))
      throw error{errc::invalid_argument, "an image of " + std::to_string(channels) +
                                              " channels needs as many means and deviations, or one of each"};
  if (std::find(options.deviation.begin(), options.deviation.end(), 0.0f) != options.deviation.end())
    throw error{errc::invalid_argument, "the deviation of an image cannot be 0"};
}

/// The checksum of PNG's chunks (ISO/IEC 15948, annex D).
std::uint32_t crc32(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t n = 0; n < t.size(); ++n) {
      auto c = n;
      for (int bit = 0; bit < 8; ++bit)
        c = (c & 1) != 0 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      t[n] = c;
    }
    return t;
  }();
  auto c = ~std::uint32_t{0};
  for (const auto b : bytes)
    c = table[(c ^ static_cast<unsigned char>(b)) & 0xff] ^ (c >> 8);
  return ~c;
}

struct free_image {
  void operator()(stbi_uc* p) const noexcept { stbi_image_free(p); }
};

/// Samples of 0 to 255, channels innermost, as large as the file has them.
struct picture {
  std::vector<float> samples;
  int width = 0, height = 0;
};

/// Gives stb the bytes of a file in pieces and sees whether it asks for more than there are: of several
/// formats it takes what is missing for black.
class byte_source {
public:
  explicit byte_source(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] static stbi_io_callbacks calls() {
    return {.read = [](void* self, char* to, int count) { return of(self).read(to, count); },
            .skip = [](void* self, int count) { of(self).skip(count); },
            .eof = [](void* self) { return of(self).at_ >= of(self).bytes_.size() ? 1 : 0; }};
  }
  [[nodiscard]] bool cut_off() const noexcept { return cut_off_; }

private:
  static byte_source& of(void* self) { return *static_cast<byte_source*>(self); }

  int read(char* to, int count) {
    const auto left = bytes_.size() - std::min(at_, bytes_.size());
    const auto n = std::min(left, static_cast<std::size_t>(count));
    cut_off_ = cut_off_ || n == 0;
    std::copy_n(bytes_.data() + std::min(at_, bytes_.size()), n, to);
    at_ += n;
    return static_cast<int>(n);
  }
  /// Back (count < 0) or on, also beyond the end.
  void skip(int count) {
    if (count >= 0)
      at_ += static_cast<std::size_t>(count);
    else
      at_ -= std::min(at_, static_cast<std::size_t>(-std::int64_t{count}));
  }

  const std::string_view bytes_;
  std::size_t at_ = 0;
  bool cut_off_ = false;
};

/// The content of a file that may be a picture, as stb takes it.
class picture_file {
public:
  explicit picture_file(const std::filesystem::path& path) : path_(path), bytes_(read_file(path)) {
    if (bytes_.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw bad_file(path, "it is too large for an image");
    check_png_chunks();
  }

  [[nodiscard]] image_size size() const {
    image_size s;
    if (stbi_info_from_memory(data(), length(), &s.width, &s.height, &s.channels) == 0)
      throw bad_file(path_, "it is not an image of a known format");
    if (s.width < 1 || s.height < 1 || std::int64_t{s.width} * s.height > most_pixels)
      throw bad_file(path_, "its size of " + std::to_string(s.width) + " x " + std::to_string(s.height) +
                                " pixels is out of range");
    if (static_cast<std::size_t>(s.width) * static_cast<std::size_t>(s.height) / most_pixels_per_byte >
        bytes_.size())
      throw bad_file(path_, "it says that it is larger than the file can hold");
    return s;
  }

  [[nodiscard]] picture decode(int channels) const {
    static_cast<void>(size()); // before memory is allocated
    picture result;
    int stored = 0;
    byte_source source{bytes_};
    const auto calls = byte_source::calls();
    const std::unique_ptr<stbi_uc, free_image> pixels{
        stbi_load_from_callbacks(&calls, &source, &result.width, &result.height, &stored, channels)};
    if (source.cut_off())
      throw bad_file(path_, "it is not a well-formed image (it is cut off)");
    if (!pixels) {
      const auto* reason = stbi_failure_reason();
      throw bad_file(path_,
                     std::string{"it is not a well-formed image ("} + (reason ? reason : "damaged") + ")");
    }
    const auto count = static_cast<std::size_t>(result.width) * static_cast<std::size_t>(result.height) *
                       static_cast<std::size_t>(channels);
    result.samples.assign(pixels.get(), pixels.get() + count);
    return result;
  }

private:
  /// Each chunk of a PNG must lie in the file, for stb allocates what a chunk says before it reads it, and be
  /// what its checksum says, which stb does not look at.
  void check_png_chunks() const {
    constexpr std::string_view signature = "\x89PNG\r\n\x1a\n";
    constexpr std::size_t around = 12; // bytes of a chunk besides its content: length, type, checksum
    if (!std::string_view{bytes_}.starts_with(signature))
      return;
    for (auto at = signature.size();
         at + around <= bytes_.size() && bytes_.compare(at + 4, 4, "IEND") != 0;) {
      const std::size_t length = big_endian(at);
      if (length > bytes_.size() - at - around)
        throw bad_file(path_, "it is not a well-formed image (a part is longer than the file)");
      const auto stored = big_endian(at + 8 + length);
      if (stored != crc32(std::string_view{bytes_}.substr(at + 4, 4 + length)))
        throw bad_file(path_, "it is not a well-formed image (the checksum of a part is wrong)");
      at += around + length;
    }
  }

  [[nodiscard]] std::uint32_t big_endian(std::size_t at) const {
    std::uint32_t n = 0;
    for (std::size_t i = 0; i < 4; ++i)
      n = n << 8 | static_cast<unsigned char>(bytes_[at + i]);
    return n;
  }
  [[nodiscard]] const stbi_uc* data() const { return reinterpret_cast<const stbi_uc*>(bytes_.data()); }
  [[nodiscard]] int length() const { return static_cast<int>(bytes_.size()); }

  const std::filesystem::path& path_;
  const std::string bytes_;
};

void resize(picture& p, int width, int height, int channels) {
  if (p.width == width && p.height == height)
    return;
  std::vector<float> samples(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
                             static_cast<std::size_t>(channels));
  if (stbir_resize_float(p.samples.data(), p.width, p.height, 0, samples.data(), width, height, 0,
                         channels) == 0)
    throw error{errc::out_of_memory, "no memory to resize an image"};
  // Filters overshoot at edges: no sample may leave the range that a picture has.
  for (auto& s : samples)
    s = std::clamp(s, 0.0f, 255.0f);
  p = {std::move(samples), width, height};
}

} // namespace

value load_image(const std::filesystem::path& path, const shape& shape, const image_options& options) {
  const auto e = extents_of(shape, options.channels);
  check_options(options, e.channels);
  const auto channels = static_cast<std::size_t>(e.channels);
  auto p = picture_file{path}.decode(static_cast<int>(channels));
  resize(p, static_cast<int>(e.width), static_cast<int>(e.height), static_cast<int>(channels));

  auto result = tensor::make(element_type::float32, shape);
  const auto out = result->data<float>();
  for (std::size_t c = 0; c < channels; ++c) {
    const auto mean = nth(options.mean, c, 0.0f);
    const auto deviation = nth(options.deviation, c, 1.0f);
    for (std::size_t i = 0; i < e.pixels(); ++i)
      out[e.place(i, c)] = (p.samples[i * channels + c] * options.scale - mean) / deviation;
  }
  return result;
}

image_size size_of_image(const std::filesystem::path& path) {
  return picture_file{path}.size();
}

void save_png(const std::filesystem::path& path, const value& image, channel_axis channels) {
  const auto& t = image.tensor();
  const auto e = extents_of(t.shape(), channels);
  const auto count = static_cast<std::size_t>(e.channels);
  std::vector<stbi_uc> samples(e.pixels() * count);
  const auto fill = [&](auto elements, auto convert) {
    for (std::size_t i = 0; i < e.pixels(); ++i)
      for (std::size_t c = 0; c < count; ++c)
        samples[i * count + c] = convert(elements[e.place(i, c)]);
  };
  if (t.type() == element_type::uint8)
    fill(t.data<std::uint8_t>(), [](std::uint8_t s) { return s; });
  else if (t.type() == element_type::float32)
    fill(t.data<float>(), [](float s) {
      return static_cast<stbi_uc>(s > 0.0f ? std::lround(std::min(s, 1.0f) * 255.0f) : 0L); // NaN is black
    });
  else
    throw error{errc::invalid_argument, describe(image) + " is not an image: it must be uint8 or float32"};

  std::string png;
  const auto append = [](void* to, void* data, int size) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  };
  if (stbi_write_png_to_func(append, &png, static_cast<int>(e.width), static_cast<int>(e.height),
                             static_cast<int>(count), samples.data(), 0) == 0)
    throw error{errc::out_of_memory, "no memory to write '" + path.string() + "'"};
  write_file(path, png);
}

} // namespace sluice
