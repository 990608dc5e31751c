#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace sluice::tools {

/// How much the command says on standard error.
enum class log_level : int { error, warning, info, debug };

/// The level from now on; `warning` at the start.
void set_log_level(log_level level) noexcept;

/// One line on standard error, if the level is on. @threadsafe
void log(log_level level, std::string_view text);

/// A line on standard error that says how far something long has come: shown after the first second, renewed
/// a few times a second, gone at the end. Silent where standard error is no terminal. @threadsafe
class progress {
public:
  /// @param what   "cases"; what is counted
  /// @param total  how many there will be
  progress(std::string what, std::size_t total);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();

  void set(std::size_t done);

private:
  using clock = std::chrono::steady_clock;

  const std::string what_;
  const std::size_t total_;
  const bool terminal_;
  std::mutex mutex_;
  clock::time_point next_; // when the line is renewed
  bool shown_ = false;
};

} // namespace sluice::tools
