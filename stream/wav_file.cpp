#include <sluice/stream/wav_file.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/stream/file_bytes.hpp>

#include <sndfile.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

namespace sluice {

namespace {

struct close_sound {
  void operator()(SNDFILE* f) const noexcept { sf_close(f); }
};

/// From interleaved samples to one row a channel; a single channel has no axis of its own.
value rows_of(std::span<const float> interleaved, std::size_t channels) {
  const auto count = static_cast<std::int64_t>(interleaved.size() / channels);
  auto result = channels == 1
                    ? tensor::make(element_type::float32, {count})
                    : tensor::make(element_type::float32, {static_cast<std::int64_t>(channels), count});
  const auto out = result->data<float>();
  const auto samples = static_cast<std::size_t>(count);
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < samples; ++i)
      out[c * samples + i] = interleaved[i * channels + c];
  return result;
}

value mixed(std::span<const float> interleaved, std::size_t channels) {
  auto result =
      tensor::make(element_type::float32, {static_cast<std::int64_t>(interleaved.size() / channels)});
  auto next = interleaved.begin();
  for (auto& sample : result->data<float>()) {
    const auto last = next + static_cast<std::ptrdiff_t>(channels);
    sample = std::accumulate(next, last, 0.0f) / static_cast<float>(channels);
    next = last;
  }
  return result;
}

/// Opens the file for libsndfile from memory, so that errors of the system are told apart from those of the
/// format, and nothing but a regular file is opened.
class memory_file {
public:
  explicit memory_file(std::string content) : content_(std::move(content)) {}

  [[nodiscard]] static SF_VIRTUAL_IO calls() {
    SF_VIRTUAL_IO io{};
    io.get_filelen = [](void* self) { return static_cast<sf_count_t>(of(self).content_.size()); };
    io.seek = [](sf_count_t offset, int whence, void* self) { return of(self).seek(offset, whence); };
    io.read = [](void* to, sf_count_t count, void* self) {
      return of(self).read(static_cast<char*>(to), count);
    };
    io.write = [](const void*, sf_count_t, void*) { return sf_count_t{0}; };
    io.tell = [](void* self) { return of(self).at_; };
    return io;
  }

private:
  static memory_file& of(void* self) { return *static_cast<memory_file*>(self); }

  sf_count_t seek(sf_count_t offset, int whence) {
    const auto size = static_cast<sf_count_t>(content_.size());
    const auto base = whence == SEEK_CUR ? at_ : whence == SEEK_END ? size : 0;
    if (offset < -base || offset > size - base)
      return -1;
    return at_ = base + offset;
  }
  sf_count_t read(char* to, sf_count_t count) {
    const auto n = std::clamp<sf_count_t>(count, 0, static_cast<sf_count_t>(content_.size()) - at_);
    std::copy_n(content_.data() + at_, n, to);
    at_ += n;
    return n;
  }

  const std::string content_;
  sf_count_t at_ = 0;
};

/// A RIFF file says how long it is. One of those that were written into a pipe says nearly the most that it
/// can.
void check_length(const std::filesystem::path& path, std::string_view bytes) {
  constexpr std::size_t head = 8;
  constexpr std::uint32_t unknown = 0x7f000000;
  if (!bytes.starts_with("RIFF") || bytes.size() < head)
    return;
  std::uint32_t said = 0; // behind the head
  for (std::size_t i = head; i-- > 4;)
    said = said << 8 | static_cast<unsigned char>(bytes[i]);
  if (said < unknown && said > bytes.size() - head)
    throw bad_file(path, "it is cut off: it has " + std::to_string(bytes.size()) + " bytes of " +
                             std::to_string(said + head));
}

} // namespace

sound load_sound(const std::filesystem::path& path, const sound_options& options) {
  auto bytes = read_file(path);
  check_length(path, bytes);
  memory_file content{std::move(bytes)};
  auto calls = memory_file::calls();
  SF_INFO info{};
  const std::unique_ptr<SNDFILE, close_sound> file{sf_open_virtual(&calls, SFM_READ, &info, &content)};
  if (!file)
    throw bad_file(path, std::string{"it is not a well-formed sound file ("} + sf_strerror(nullptr) + ")");
  if (info.channels < 1 || info.samplerate < 1)
    throw bad_file(path, "it has no channels or no rate");
  if (options.rate && *options.rate != info.samplerate)
    throw bad_file(path, "its rate is " + std::to_string(info.samplerate) + " Hz, not " +
                             std::to_string(*options.rate) + " Hz");

  // Grows with what is there: the length that the head declares is not to be trusted.
  const auto channels = static_cast<std::size_t>(info.channels);
  std::vector<float> samples;
  std::vector<float> block(4096 * channels);
  while (true) {
    const auto frames = sf_readf_float(file.get(), block.data(), 4096);
    if (frames <= 0)
      break;
    samples.insert(samples.end(), block.begin(),
                   block.begin() + static_cast<std::ptrdiff_t>(frames * info.channels));
  }
  if (sf_error(file.get()) != SF_ERR_NO_ERROR)
    throw bad_file(path, std::string{"it is damaged ("} + sf_strerror(file.get()) + ")");
  return {options.mono ? mixed(samples, channels) : rows_of(samples, channels), info.samplerate};
}

value decode_pcm16(std::string_view bytes, std::string_view name, int channels) {
  if (channels < 1)
    throw error{errc::invalid_argument, "sound needs at least one channel"};
  const auto count = static_cast<std::size_t>(channels);
  if (bytes.size() % (2 * count) != 0)
    throw bad_file(name, "its " + std::to_string(bytes.size()) + " bytes are not whole 16-bit samples of " +
                             std::to_string(channels) + (channels == 1 ? " channel" : " channels"));
  std::vector<float> samples(bytes.size() / 2);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto low = static_cast<unsigned char>(bytes[2 * i]);
    const auto high = static_cast<unsigned char>(bytes[2 * i + 1]);
    samples[i] = static_cast<float>(static_cast<std::int16_t>(high << 8 | low)) / 32768.0f;
  }
  return rows_of(samples, count);
}

value load_pcm16(const std::filesystem::path& path, int channels) {
  return decode_pcm16(read_file(path), path.string(), channels);
}

} // namespace sluice
