#include <tools/console.hpp>

#include <atomic>
#include <iostream>

#include <unistd.h>

namespace sluice::tools {

namespace {

using namespace std::chrono_literals;

constexpr auto before_first = 1s;
constexpr auto between = 200ms;
constexpr std::string_view clear_line = "\r\x1b[K";

std::atomic<log_level> level_now = log_level::warning;

constexpr std::string_view prefix(log_level level) {
  switch (level) {
  case log_level::error:
    return "sluice: ";
  case log_level::warning:
    return "sluice: warning: ";
  case log_level::info:
  case log_level::debug:
    break;
  }
  return "sluice: note: ";
}

} // namespace

void set_log_level(log_level level) noexcept {
  level_now.store(level, std::memory_order_relaxed);
}

void log(log_level level, std::string_view text) {
  if (level <= level_now.load(std::memory_order_relaxed))
    std::cerr << std::string{prefix(level)}.append(text).append("\n"); // in one piece, as threads may log
}

progress::progress(std::string what, std::size_t total)
  : what_(std::move(what)), total_(total), terminal_(isatty(STDERR_FILENO) == 1),
    next_(clock::now() + before_first) {}

progress::~progress() {
  if (shown_)
    std::cerr << clear_line << std::flush;
}

void progress::set(std::size_t done) {
  if (!terminal_)
    return;
  const std::lock_guard lock{mutex_};
  const auto now = clock::now();
  if (now < next_)
    return;
  next_ = now + between;
  shown_ = true;
  std::cerr << clear_line << done << " of " << total_ << ' ' << what_;
  if (total_ > 0)
    std::cerr << " (" << done * 100 / total_ << " %)";
  std::cerr << std::flush;
}

} // namespace sluice::tools
