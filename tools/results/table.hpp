#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace sluice::tools {

/// Text in columns as wide as their contents. A head that starts with '>' makes its column flush right.
class table_writer {
public:
  explicit table_writer(std::vector<std::string> heads);

  /// One cell for each column.
  void row(std::vector<std::string> cells);
  void print(std::ostream& out) const;

private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_; // the first is the head
};

} // namespace sluice::tools
