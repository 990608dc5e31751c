#include "files.hpp"

#include <sluice/sluice.hpp>
#include <sluice/stream/npy.hpp>
#include <sluice/stream/wav_file.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <span>

// Voice activity over whole recordings, the state carried from frame to frame, as tests/data/README.md says.

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr const char* silero = "silero_vad.onnx";
constexpr const char* novel =
    "/usr/share/pocketsphinx/test/data/librivox/sense_and_sensibility_01_austen_64kb-0870.wav";
constexpr int rate = 16'000;

/// 512 samples and the 64 before them; silence beyond the recording's ends.
value frame(std::span<const float> recording, std::size_t number) {
  auto t = tensor::make(element_type::float32, {1, 576});
  const auto to = t->data<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto at = number * 512 + i; // counted from 64 samples before the recording
    to[i] = at < 64 || at - 64 >= recording.size() ? 0.f : recording[at - 64];
  }
  return t;
}

void check(const std::filesystem::path& recording, const std::filesystem::path& expected_file,
           std::size_t speech_frames) {
  const auto expected_value = load_npy(in_repository("tests/data") / expected_file);
  const auto expected = expected_value.tensor().data<float>();
  const auto heard = load_sound(asset(recording), {.rate = rate});
  const auto samples = heard.samples.tensor().data<float>();
  BOOST_REQUIRE((samples.size() + 511) / 512 == expected.size());

  engine e;
  auto s = e.load(asset(silero));
  auto zeros = tensor::make(element_type::float32, {2, 1, 128});
  std::ranges::fill(zeros->data<float>(), 0.f);
  value state = std::move(zeros);
  std::size_t speech = 0, wrong = 0;
  float farthest = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const auto results =
        s.run({{"input", frame(samples, k)}, {"state", std::move(state)}, {"sr", std::int64_t{rate}}});
    const auto probability = results["output"].scalar<float>();
    state = results["stateN"];
    const auto distance = std::abs(probability - expected[k]);
    farthest = std::max(farthest, distance);
    wrong += distance <= 1e-4f ? 0 : 1;
    speech += probability >= 0.5f ? 1 : 0;
  }
  BOOST_TEST(wrong == 0u, wrong << " frames are too far off, at most by " << farthest);
  BOOST_TEST(speech == speech_frames);
}

} // namespace

BOOST_AUTO_TEST_SUITE(voice)

BOOST_AUTO_TEST_CASE(a_sentence_of_a_novel, *boost::unit_test::precondition(needs({silero, novel}))) {
  check(novel, "silero_librivox_0870.npy", 204);
}

BOOST_AUTO_TEST_CASE(thirteen_recordings_with_pauses,
                     *boost::unit_test::precondition(needs({silero, "speech.wav"}))) {
  check("speech.wav", "silero_speech.npy", 1117);
}

BOOST_AUTO_TEST_SUITE_END()
