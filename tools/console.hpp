#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace sluice::tools {

/// How much the command says on standard error.
enum class log_level : int { error, warning, info, debug };

/// The level from now on; `warning` at the start.
void set_log_level(log_level level) noexcept;

/// One line on standard error, if the level is on. @threadsafe
void log(log_level level, std::string_view text);

/// A line on standard error that says how far something long has come: shown after the first second, renewed
/// a few times a second, gone at the end. Silent where standard error is no terminal, or one that cannot
/// erase a line (TERM=dumb). @threadsafe
class progress {
public:
  /// @param what   "cases", "loading 'x.onnx'"; what is counted, or done
  /// @param total  how many there will be; with less than two only the time is shown
  explicit progress(std::string what, std::size_t total = 0);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();

  void set(std::size_t done) noexcept { done_.store(done, std::memory_order_relaxed); }

private:
  void draw(const std::stop_token& stop);
  [[nodiscard]] std::string line(std::chrono::seconds passed) const;

  const std::string what_;
  const std::size_t total_;
  std::atomic<std::size_t> done_ = 0;
  std::jthread drawer_; // none where nothing is shown
};

} // namespace sluice::tools
