#include "speech.hpp"

#include <sluice/stream/wav_file.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iomanip>
#include <sstream>
#include <thread>

namespace demo {

namespace {

using clock = std::chrono::steady_clock;

// What the model was trained for: 32 ms of sound a frame, with the last 4 ms of the frame before.
constexpr int rate = 16'000;
constexpr std::size_t fresh = 512;
constexpr std::size_t context = 64;

double seconds_of(std::size_t frame) {
  return static_cast<double>(frame * fresh) / rate;
}

} // namespace

std::optional<segment> segment_finder::next(float probability) {
  const auto frame = frame_++;
  quiet_ = probability < quiet_below ? quiet_ + 1 : 0;
  if (!first_ && probability >= begins_at)
    first_ = frame;
  if (!first_ || quiet_ < quiet_frames)
    return {};
  const segment over{*first_, frame + 1 - quiet_frames};
  first_.reset();
  return over;
}

std::optional<segment> segment_finder::finish() const {
  if (!first_)
    return {};
  return segment{*first_, frame_ - quiet_};
}

speech_half::speech_half(sluice::engine& engine, const std::filesystem::path& model,
                         const std::filesystem::path& sound)
  : model_(engine.load(model, {.name = "speech"})) {
  const auto heard = sluice::load_sound(sound, {.rate = rate});
  const auto samples = heard.samples.tensor().data<float>();
  samples_.assign(samples.begin(), samples.end());
  frames_ = (samples_.size() + fresh - 1) / fresh;
}

double speech_half::seconds() const noexcept {
  return static_cast<double>(samples_.size()) / rate;
}

measured speech_half::run(board& board, const std::atomic<bool>& stop, double speed, bool trace) {
  auto state = sluice::tensor::make(sluice::element_type::float32, {2, 1, 128});
  std::ranges::fill(state->data<float>(), 0.f);
  sluice::value carried = std::move(state);
  segment_finder finder;
  measured result;
  const auto start = clock::now();
  for (std::size_t n = 0; n < frames_ && !stop; ++n) {
    if (trace && trace_begins(n, frames_))
      model_.start_trace();
    if (speed > 0)
      std::this_thread::sleep_until(start + std::chrono::duration_cast<clock::duration>(
                                                std::chrono::duration<double>(seconds_of(n + 1) / speed)));
    const auto sent = clock::now();
    const auto outputs =
        model_.run({{"input", frame(n)}, {"state", std::move(carried)}, {"sr", std::int64_t{rate}}});
    result.microseconds.push_back(std::chrono::duration<double, std::micro>(clock::now() - sent).count());
    carried = outputs["stateN"];
    add(finder.next(outputs["output"].scalar<float>()), board);
    board.heard(seconds_of(n + 1), finder.speaking());
  }
  add(finder.finish(), board);
  result.seconds = std::chrono::duration<double>(clock::now() - start).count();
  return result;
}

/// Frame `number` with the samples before it; beyond the recording's ends there is silence.
sluice::value speech_half::frame(std::size_t number) const {
  auto made = sluice::tensor::make(sluice::element_type::float32, {1, fresh + context});
  const auto to = made->data<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto at = number * fresh + i; // counted from `context` samples before the recording
    to[i] = at < context || at - context >= samples_.size() ? 0.f : samples_[at - context];
  }
  return made;
}

void speech_half::add(std::optional<segment> s, board& board) {
  if (!s)
    return;
  segments_.push_back(*s);
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << "speech from " << std::setw(5) << seconds_of(s->first)
       << " s to " << std::setw(5) << seconds_of(s->end) << " s";
  board.line(text.str());
}

} // namespace demo
