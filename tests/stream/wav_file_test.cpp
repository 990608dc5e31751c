#include <tests/support/says.hpp>
#include <tests/support/temporary_folder.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/stream/file_bytes.hpp>
#include <sluice/stream/wav_file.hpp>

#include <boost/test/unit_test.hpp>

using namespace sluice;
using sluice::test::says;
using namespace std::string_literals;

namespace {

std::string little(std::uint32_t n, int bytes) {
  std::string s;
  for (int i = 0; i < bytes; ++i)
    s.push_back(static_cast<char>(n >> (8 * i)));
  return s;
}

/// A WAV file of 16-bit samples, which says that it has `declared` bytes of them.
std::string wav(const std::string& samples, std::uint32_t channels, std::uint32_t rate,
                std::uint32_t declared) {
  return "RIFF" + little(36 + declared, 4) + "WAVEfmt " + little(16, 4) + little(1, 2) + little(channels, 2) +
         little(rate, 4) + little(rate * channels * 2, 4) + little(channels * 2, 2) + little(16, 2) + "data" +
         little(declared, 4) + samples;
}

std::string wav(const std::string& samples, std::uint32_t channels = 1, std::uint32_t rate = 16000) {
  return wav(samples, channels, rate, static_cast<std::uint32_t>(samples.size()));
}

const auto two_samples = "\0\x40\0\xc0"s; // a half, minus a half

} // namespace

BOOST_AUTO_TEST_SUITE(sound_files)

BOOST_AUTO_TEST_CASE(samples_lie_between_minus_one_and_one) {
  const test::temporary_folder folder;
  write_file(folder / "a.wav", wav(two_samples));
  const auto s = load_sound(folder / "a.wav");
  BOOST_TEST(s.rate == 16000);
  BOOST_TEST((s.samples.tensor().shape() == shape{2}));
  BOOST_TEST(s.samples.tensor().data<float>()[0] == 0.5f);
  BOOST_TEST(s.samples.tensor().data<float>()[1] == -0.5f);
}

BOOST_AUTO_TEST_CASE(channels_are_mixed_or_kept) {
  const test::temporary_folder folder;
  write_file(folder / "a.wav", wav(two_samples, 2));
  BOOST_TEST(load_sound(folder / "a.wav").samples.scalar<float>() == 0.0f);
  const auto kept = load_sound(folder / "a.wav", {.mono = false}).samples;
  BOOST_TEST((kept.tensor().shape() == shape{2, 1}));
  BOOST_TEST(kept.tensor().data<float>()[1] == -0.5f);
}

BOOST_AUTO_TEST_CASE(another_rate_is_refused) {
  const test::temporary_folder folder;
  write_file(folder / "a.wav", wav(two_samples, 1, 44100));
  BOOST_CHECK_EXCEPTION(static_cast<void>(load_sound(folder / "a.wav", {.rate = 16000})), error,
                        says(errc::invalid_argument, "its rate is 44100 Hz, not 16000 Hz"));
}

BOOST_AUTO_TEST_CASE(a_head_that_lies_about_its_length_gives_what_is_there) {
  const test::temporary_folder folder;
  write_file(folder / "a.wav", wav(two_samples, 1, 16000, 0xfffffff0u));
  BOOST_TEST(load_sound(folder / "a.wav").samples.tensor().elements() == 2);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_cut_off_is_refused) {
  const test::temporary_folder folder;
  const auto whole = wav(two_samples);
  write_file(folder / "a.wav", whole.substr(0, whole.size() - 1));
  BOOST_CHECK_EXCEPTION(static_cast<void>(load_sound(folder / "a.wav")), error,
                        says(errc::invalid_argument, "cut off"));
}

BOOST_AUTO_TEST_CASE(what_is_no_sound_is_refused) {
  const test::temporary_folder folder;
  for (const auto& bytes : {""s, "no sound"s, wav(two_samples).substr(0, 20), wav(two_samples, 0)}) {
    write_file(folder / "a.wav", bytes);
    BOOST_CHECK_EXCEPTION(static_cast<void>(load_sound(folder / "a.wav")), error,
                          says(errc::invalid_argument, "a.wav"));
  }
  BOOST_CHECK_EXCEPTION(static_cast<void>(load_sound(folder / "b.wav")), error,
                        says(errc::io_failed, "b.wav"));
}

BOOST_AUTO_TEST_CASE(raw_samples_are_read_by_channel) {
  const auto one = decode_pcm16(two_samples, "raw");
  BOOST_TEST((one.tensor().shape() == shape{2}));
  BOOST_TEST(one.tensor().data<float>()[1] == -0.5f);
  BOOST_TEST((decode_pcm16(two_samples, "raw", 2).tensor().shape() == shape{2, 1}));
  BOOST_CHECK_EXCEPTION(static_cast<void>(decode_pcm16("abc", "x.raw")), error,
                        says(errc::invalid_argument, "'x.raw': its 3 bytes"));
}

BOOST_AUTO_TEST_SUITE_END()
