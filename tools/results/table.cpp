#include <tools/results/table.hpp>

#include <algorithm>
#include <ostream>

namespace sluice::tools {

namespace {

/// Characters that stand beside one another: the bytes of UTF-8 that start one.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

} // namespace

table_writer::table_writer(std::vector<std::string> heads) {
  for (auto& head : heads) {
    right_.push_back(head.starts_with('>'));
    if (right_.back())
      head.erase(0, 1);
  }
  rows_.push_back(std::move(heads));
}

void table_writer::row(std::vector<std::string> cells) {
  cells.resize(right_.size());
  rows_.push_back(std::move(cells));
}

void table_writer::print(std::ostream& out) const {
  std::vector<std::size_t> widths(right_.size(), 0);
  for (const auto& cells : rows_)
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], width(cells[i]));
  for (const auto& cells : rows_) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string space(widths[i] - width(cells[i]), ' ');
      line += (i == 0 ? "" : "  ") + (right_[i] ? space + cells[i] : cells[i] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

} // namespace sluice::tools
