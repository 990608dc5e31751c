#include <tools/console.hpp>

#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>

#include <unistd.h>

namespace sluice::tools {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds before_first = 1s;
constexpr std::chrono::milliseconds between = 200ms;
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

bool erasing_terminal() {
  const auto* term = std::getenv("TERM"); // NOLINT(concurrency-mt-unsafe): nobody sets it
  return isatty(STDERR_FILENO) == 1 && term && std::string_view{term} != "dumb";
}

} // namespace

void set_log_level(log_level level) noexcept {
  level_now.store(level, std::memory_order_relaxed);
}

void log(log_level level, std::string_view text) {
  if (level <= level_now.load(std::memory_order_relaxed))
    std::cerr << std::string{prefix(level)}.append(text).append("\n"); // in one piece, as threads may log
}

progress::progress(std::string what, std::size_t total) : what_(std::move(what)), total_(total) {
  if (erasing_terminal())
    drawer_ = std::jthread{[this](const std::stop_token& stop) { draw(stop); }};
}

progress::~progress() = default;

void progress::draw(const std::stop_token& stop) {
  std::mutex alone;
  std::condition_variable_any stopped;
  std::unique_lock lock{alone};
  const auto start = std::chrono::steady_clock::now();
  const auto ended = [&](std::chrono::milliseconds time) {
    return stopped.wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
  };
  std::string shown;
  for (auto wait = before_first; !ended(wait); wait = between) {
    const auto passed = std::chrono::steady_clock::now() - start;
    auto now = line(std::chrono::duration_cast<std::chrono::seconds>(passed));
    if (now == shown)
      continue;
    std::cerr << now << std::flush;
    shown = std::move(now);
  }
  if (!shown.empty())
    std::cerr << clear_line << std::flush;
}

std::string progress::line(std::chrono::seconds passed) const {
  auto text = std::string{clear_line} + what_ + ": ";
  if (total_ > 1) {
    const auto done = done_.load(std::memory_order_relaxed);
    const auto percent = static_cast<int>(100 * static_cast<double>(done) / static_cast<double>(total_));
    text += std::to_string(done) + " of " + std::to_string(total_) + " (" + std::to_string(percent) + " %), ";
  }
  return text + std::to_string(passed.count()) + " s";
}

} // namespace sluice::tools
