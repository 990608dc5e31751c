#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <mutex>
#include <string>

namespace demo {

/// What the demo shows while data flow: lines that stay, and on a terminal one below them that is renewed
/// several times a second. Elsewhere each tenth of the digits gets a line in its place. @threadsafe
class board {
public:
  /// @param live  `out` is a terminal
  board(std::ostream& out, bool live) : out_(out), live_(live) {}
  board(const board&) = delete;
  board& operator=(const board&) = delete;
  ~board();

  void line(const std::string& text);
  /// The recording was heard up to `seconds`.
  void heard(double seconds, bool speaking);
  /// So many of `total` digits are read, and `right` of them are what was written.
  void read(std::size_t done, std::size_t right, std::size_t total);

private:
  using clock = std::chrono::steady_clock;

  void show(bool now);
  void clear();

  std::ostream& out_;
  const bool live_;
  std::mutex mutex_;
  std::string speech_; // the halves of the renewed line; guarded by mutex_, as all below
  std::string digits_;
  std::size_t tenth_ = 0;
  bool shown_ = false;
  clock::time_point next_;
};

} // namespace demo
