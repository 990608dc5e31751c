#pragma once

#include "board.hpp"
#include "measured.hpp"

#include <sluice/sluice.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace demo {

/// Reads handwritten digits through a classifier, several in flight.
class digits_half {
public:
  /// Loads the model and an archive with `images` uint8 [N,28,28] and `labels` uint8 [N]; if it also has
  /// `held_out`, those digits only, which the model was not trained with. Throws sluice::error, naming the
  /// file.
  digits_half(sluice::engine& engine, const std::filesystem::path& model,
              const std::filesystem::path& archive);

  /// Until all are read or until `stop`; what is in flight is finished. With `trace`, the last digits are
  /// traced. Throws the first error of a run.
  measured run(board& board, const std::atomic<bool>& stop, bool trace);

  [[nodiscard]] std::size_t total() const noexcept { return labels_.size(); }
  [[nodiscard]] std::size_t done() const noexcept { return done_; }
  [[nodiscard]] std::size_t right() const noexcept { return right_; }
  [[nodiscard]] sluice::session& session() noexcept { return model_; }

private:
  sluice::session model_;
  sluice::value images_; // float32 [N,1,28,28], from 0 to 1
  std::vector<std::uint8_t> labels_;
  std::size_t done_ = 0;
  std::size_t right_ = 0;
};

} // namespace demo
