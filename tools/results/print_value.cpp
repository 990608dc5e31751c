#include <tools/results/print_value.hpp>

#include <sluice/graph/collections.hpp>
#include <sluice/graph/tensor.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <ostream>
#include <sstream>
#include <vector>

namespace sluice::tools {

namespace {

template <class T>
constexpr bool is_real = std::is_arithmetic_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

template <class T>
void print_element(std::ostream& out, const T& x) {
  if constexpr (std::is_same_v<T, std::string>)
    out << '"' << x << '"';
  else if constexpr (std::is_same_v<T, bool>)
    out << (x ? "true" : "false");
  else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
    print_element(out, static_cast<float>(x));
  else if constexpr (std::is_floating_point_v<T>)
    out << (std::isnan(x) ? std::abs(x) : x); // a NaN's sign says nothing
  else if constexpr (std::is_arithmetic_v<T>)
    out << +x; // bytes are numbers here
  else
    out << x;
}

template <class T>
void print_rows(std::ostream& out, std::span<const T> elements, const shape& s, const std::string& indent) {
  const auto row = s.rank() == 0 ? std::size_t{1} : static_cast<std::size_t>(s[s.rank() - 1]);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    out << (i % row == 0 ? indent : " ");
    print_element(out, elements[i]);
    if (i % row == row - 1)
      out << '\n';
  }
}

std::string place(std::size_t flat, const shape& s) {
  std::string text;
  for (auto axis = s.rank(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(s[axis]);
    text = std::to_string(flat % extent) + (text.empty() ? "" : ", ") + text;
    flat /= extent;
  }
  return '[' + text + ']';
}

template <class T>
void print_summary(std::ostream& out, std::span<const T> elements, const shape& s, const std::string& indent,
                   const print_options& options) {
  std::vector<std::size_t> numbers; // places of those that are not NaN
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto x = static_cast<double>(static_cast<float>(elements[i]));
    if (std::isnan(x))
      continue;
    numbers.push_back(i);
    sum += x;
    squares += x * x;
  }
  const auto nans = elements.size() - numbers.size();
  if (!numbers.empty()) {
    const auto less = [&](std::size_t a, std::size_t b) { return elements[a] < elements[b]; };
    const auto [least, greatest] = std::minmax_element(numbers.begin(), numbers.end(), less);
    const auto n = static_cast<double>(numbers.size());
    const auto mean = sum / n;
    out << indent << "least ";
    print_element(out, elements[*least]);
    out << ", greatest ";
    print_element(out, elements[*greatest]);
    out << ", mean " << mean << ", deviation " << std::sqrt(std::max(0.0, squares / n - mean * mean)) << '\n';
  }
  if (nans > 0)
    out << indent << nans << " of " << elements.size() << " are NaN\n";
  const auto shown = std::min(options.top, numbers.size());
  std::partial_sort(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(shown), numbers.end(),
                    [&](std::size_t a, std::size_t b) {
                      return elements[b] < elements[a] || (!(elements[a] < elements[b]) && a < b);
                    });
  for (std::size_t i = 0; i < shown; ++i) {
    out << indent << place(numbers[i], s) << ' ';
    print_element(out, elements[numbers[i]]);
    out << '\n';
  }
}

void print(std::ostream& out, std::string_view name, const value& v, const print_options& options,
           const std::string& indent);

void print_tensor(std::ostream& out, const tensor& t, const print_options& options,
                  const std::string& indent) {
  visit_element_type(t.type(), [&]<class T>(std::type_identity<T>) {
    const std::span<const T> elements = t.data<T>();
    if (elements.size() <= options.all_up_to)
      return print_rows(out, elements, t.shape(), indent);
    if constexpr (is_real<T>) {
      print_summary(out, elements, t.shape(), indent, options);
    } else {
      const auto shown = std::min(options.top, elements.size());
      print_rows(out, elements.first(shown), shape{static_cast<std::int64_t>(shown)}, indent);
      out << indent << "… and " << elements.size() - shown << " more\n";
    }
  });
}

void print(std::ostream& out, std::string_view name, const value& v, const print_options& options,
           const std::string& indent) {
  out << indent << name << "  " << describe(v) << '\n';
  if (v.empty())
    return;
  const auto inner = indent + "  ";
  switch (v.kind()) {
  case value_kind::tensor:
    return print_tensor(out, v.tensor(), options, inner);
  case value_kind::sequence:
    for (std::size_t i = 0; i < v.sequence().items.size(); ++i)
      print(out, std::to_string(i), v.sequence().items[i], options, inner);
    return;
  case value_kind::map:
    for (const auto& [key, entry] : v.map().entries) {
      std::ostringstream shown;
      std::visit([&](const auto& k) { print_element(shown, k); }, key);
      print(out, shown.str(), entry, options, inner);
    }
    return;
  case value_kind::optional:
    if (!v.optional().content.empty())
      print(out, "content", v.optional().content, options, inner);
    return;
  case value_kind::object:
    return;
  }
}

} // namespace

void print_value(std::ostream& out, std::string_view name, const value& v, const print_options& options) {
  print(out, name, v, options, "");
}

} // namespace sluice::tools
