#pragma once

#include "board.hpp"
#include "measured.hpp"

#include <sluice/sluice.hpp>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

namespace demo {

/// A stretch of speech, in frames: [first, end).
struct segment {
  std::size_t first;
  std::size_t end;
};

/// Turns the probability of speech, frame by frame, into segments. One begins at a frame of at least 0.5 and
/// ends at the first of 10 frames in a row below 0.35, so that a breath does not cut a sentence.
class segment_finder {
public:
  /// Takes the next frame's probability; gives the segment that is now known to be over, if one is.
  std::optional<segment> next(float probability);
  /// The segment that the end of the recording cuts off, if one is.
  [[nodiscard]] std::optional<segment> finish() const;
  [[nodiscard]] bool speaking() const noexcept { return first_.has_value(); }

private:
  static constexpr float begins_at = 0.5f;
  static constexpr float quiet_below = 0.35f;
  static constexpr std::size_t quiet_frames = 10;

  std::size_t frame_ = 0; // the next one's number
  std::size_t quiet_ = 0; // frames in a row that were quiet
  std::optional<std::size_t> first_;
};

/// Listens to a recording frame by frame through a model of voice activity, whose state goes from each frame
/// to the next.
class speech_half {
public:
  /// Loads the model (Silero's) and the recording (16 kHz). Throws sluice::error, naming the file.
  speech_half(sluice::engine& engine, const std::filesystem::path& model, const std::filesystem::path& sound);

  /// Until the end or until `stop`; the frame under way is finished. `speed` 1 takes as long as it took to
  /// speak, 0 goes as fast as it can. With `trace`, the last frames are traced.
  measured run(board& board, const std::atomic<bool>& stop, double speed, bool trace);

  [[nodiscard]] const std::vector<segment>& segments() const noexcept { return segments_; }
  [[nodiscard]] double seconds() const noexcept;
  [[nodiscard]] sluice::session& session() noexcept { return model_; }

private:
  [[nodiscard]] sluice::value frame(std::size_t number) const;
  void add(std::optional<segment> s, board& board);

  sluice::session model_;
  std::vector<float> samples_;
  std::size_t frames_;
  std::vector<segment> segments_;
};

} // namespace demo
