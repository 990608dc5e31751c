#include <sluice/stream/csv_file.hpp>

#include <sluice/graph/tensor.hpp>
#include <sluice/stream/file_bytes.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace sluice {

namespace {

/// Splits text into lines of fields. A quoted field may hold separators, line ends and, doubled, quotes.
class csv_reader {
public:
  csv_reader(std::string_view text, const std::string& name, char separator)
    : text_(text), name_(name), separator_(separator) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text_.starts_with(byte_order_mark))
      text_.remove_prefix(byte_order_mark.size());
  }

  /// The next line that is not empty; false at the end.
  bool next(std::vector<std::string>& fields) {
    fields.clear();
    while (fields.empty() && !text_.empty()) {
      line_ = next_line_;
      read_line(fields);
      if (fields.size() == 1 && fields.front().empty())
        fields.clear();
    }
    return !fields.empty();
  }

  [[nodiscard]] error at(std::size_t column, const std::string& what) const {
    return bad_file(name_,
                    "line " + std::to_string(line_) + ", column " + std::to_string(column + 1) + ": " + what);
  }
  [[nodiscard]] error at_line(const std::string& what) const {
    return bad_file(name_, "line " + std::to_string(line_) + ": " + what);
  }

private:
  void read_line(std::vector<std::string>& fields) {
    bool more = true;
    while (more) {
      fields.push_back(!text_.empty() && text_.front() == '"' ? quoted(fields.size()) : plain());
      more = !text_.empty() && text_.front() == separator_;
      if (more)
        text_.remove_prefix(1);
    }
    if (text_.starts_with("\r\n"))
      text_.remove_prefix(1);
    if (text_.empty())
      return;
    if (text_.front() != '\n' && text_.front() != '\r')
      throw at(fields.size() - 1, "text behind a closing quote");
    text_.remove_prefix(1);
    ++next_line_;
  }

  std::string plain() {
    std::size_t n = 0;
    while (n < text_.size() && text_[n] != separator_ && text_[n] != '\n' && text_[n] != '\r')
      ++n;
    std::string field{text_.substr(0, n)};
    text_.remove_prefix(n);
    return field;
  }

  std::string quoted(std::size_t column) {
    std::string field;
    text_.remove_prefix(1);
    while (true) {
      const auto quote = text_.find('"');
      if (quote == std::string_view::npos)
        throw at(column, "a quote is not closed");
      field += text_.substr(0, quote);
      text_.remove_prefix(quote + 1);
      if (!text_.starts_with('"'))
        break;
      field += '"';
      text_.remove_prefix(1);
    }
    next_line_ += static_cast<std::size_t>(std::count(field.begin(), field.end(), '\n'));
    return field;
  }

  std::string_view text_;
  const std::string& name_;
  const char separator_;
  std::size_t line_ = 1;
  std::size_t next_line_ = 1;
};

std::optional<float> number(std::string_view field) {
  constexpr std::string_view space = " \t";
  const auto first = field.find_first_not_of(space);
  if (first == std::string_view::npos)
    return {};
  field = field.substr(first, field.find_last_not_of(space) - first + 1);
  if (field.starts_with('+'))
    field.remove_prefix(1);
  // As double: what only float cannot hold becomes infinity or zero, as everywhere else.
  double result = 0;
  const auto [end, problem] = std::from_chars(field.data(), field.data() + field.size(), result);
  if (problem != std::errc{} || end != field.data() + field.size())
    return {};
  return static_cast<float>(result);
}

template <class T>
void append_number(std::string& text, const T& x) {
  if constexpr (std::is_same_v<T, std::string>) {
    text += '"';
    for (const auto c : x)
      text.append(c == '"' ? 2 : 1, c);
    text += '"';
  } else if constexpr (std::is_same_v<T, bool>) {
    text += x ? '1' : '0';
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    append_number(text, static_cast<float>(x));
  } else if constexpr (std::is_arithmetic_v<T>) {
    std::array<char, 64> digits; // the shortest that is read back as the same number
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr);
  } else {
    throw error{errc::invalid_argument, "complex numbers cannot be written as CSV"};
  }
}

} // namespace

table decode_csv(std::string_view text, const std::string& name, char separator) {
  csv_reader reader{text, name, separator};
  table result;
  std::vector<float> numbers;
  std::vector<std::string> fields;
  std::size_t width = 0;
  std::int64_t rows = 0;
  while (reader.next(fields)) {
    const auto first = width == 0;
    if (first)
      width = fields.size();
    else if (fields.size() != width)
      throw reader.at_line("it has " + std::to_string(fields.size()) + " fields, the first line " +
                           std::to_string(width));
    if (first &&
        !std::all_of(fields.begin(), fields.end(), [](const auto& f) { return number(f).has_value(); })) {
      result.columns = fields;
      continue;
    }
    for (std::size_t column = 0; column < width; ++column) {
      const auto x = number(fields[column]);
      if (!x)
        throw reader.at(column, "'" + fields[column].substr(0, 40) + "' is not a number");
      numbers.push_back(*x);
    }
    ++rows;
  }
  if (rows == 0)
    throw bad_file(name, "it holds no numbers");
  result.data = tensor::of<float>({rows, static_cast<std::int64_t>(width)}, std::span<const float>{numbers});
  return result;
}

table load_csv(const std::filesystem::path& path, char separator) {
  return decode_csv(read_file(path), path.string(), separator);
}

std::string encode_csv(const value& v, std::span<const std::string> columns) {
  const auto& t = v.tensor();
  if (t.layout() != layout::plain)
    throw error{errc::invalid_argument,
                describe(v) + " is laid out in blocks: it cannot be written as it is"};
  const auto row = t.shape().rank() == 0 ? 1 : t.shape().product(1, t.shape().rank());
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    text += i == 0 ? "" : ",";
    append_number(text, columns[i]);
  }
  if (!columns.empty())
    text += '\n';
  visit_element_type(t.type(), [&]<class T>(std::type_identity<T>) {
    std::int64_t in_row = 0;
    for (const auto& x : t.data<T>()) {
      append_number(text, x);
      const auto ends = ++in_row == row;
      text += ends ? '\n' : ',';
      if (ends)
        in_row = 0;
    }
  });
  return text;
}

void save_csv(const std::filesystem::path& path, const value& v, std::span<const std::string> columns) {
  write_file(path, encode_csv(v, columns));
}

} // namespace sluice
