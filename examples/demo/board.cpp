#include "board.hpp"

#include <iomanip>
#include <ostream>
#include <sstream>

namespace demo {

board::~board() {
  clear();
}

void board::line(const std::string& text) {
  const std::lock_guard lock{mutex_};
  clear();
  out_ << text << '\n';
  show(true);
  out_.flush();
}

void board::heard(double seconds, bool speaking) {
  const std::lock_guard lock{mutex_};
  std::ostringstream text;
  text << "listening " << std::fixed << std::setprecision(1) << std::setw(5) << seconds << " s "
       << (speaking ? "speech " : "silence");
  speech_ = text.str();
  show(false);
}

void board::read(std::size_t done, std::size_t right, std::size_t total) {
  const std::lock_guard lock{mutex_};
  std::ostringstream text;
  text << "digits " << std::setw(5) << done << " of " << total << ", " << std::fixed << std::setprecision(2)
       << 100 * static_cast<double>(right) / static_cast<double>(done) << " % right";
  digits_ = text.str();
  show(false);
  if (!live_ && done * 10 / total > tenth_) {
    tenth_ = done * 10 / total;
    out_ << digits_ << std::endl;
  }
}

void board::show(bool now) {
  if (!live_ || (speech_.empty() && digits_.empty()) || (!now && clock::now() < next_))
    return;
  clear();
  out_ << speech_ << (speech_.empty() || digits_.empty() ? "" : "  |  ") << digits_ << std::flush;
  shown_ = true;
  next_ = clock::now() + std::chrono::milliseconds{50};
}

void board::clear() {
  if (shown_)
    out_ << "\r\033[K";
  shown_ = false;
}

} // namespace demo
