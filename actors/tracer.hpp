#pragma once

#include <sluice/graph/export.hpp>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Records firings and writes them as a Chrome trace (also read by Perfetto): a track a thread, a slice a
/// firing, arrows from the firing that delivered the last input to the one that it made ready.
///
/// Bounded: past its capacity, firings are counted and dropped. @threadsafe record() and write().
class SLUICE_API tracer {
public:
  using clock = std::chrono::steady_clock;

  struct firing {
    std::string_view node; ///< lives as long as the session
    std::string_view op;
    std::uint64_t frame;
    clock::time_point begin;
    clock::time_point end;
  };

  explicit tracer(std::size_t capacity = 1'000'000);
  ~tracer();

  void record(const firing& f, std::span<const std::string_view> consumers);
  /// Writes what was recorded so far, as JSON.
  void write(std::ostream& to) const;
  [[nodiscard]] std::size_t recorded() const;
  [[nodiscard]] std::size_t dropped() const;

private:
  struct track;
  [[nodiscard]] track& of_thread();

  const std::size_t capacity_;
  const clock::time_point start_ = clock::now();
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<track>> tracks_; // guarded by mutex_
};

} // namespace sluice
