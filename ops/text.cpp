#include <sluice/ops/operators.hpp>

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/ngrams.hpp>

#include <clocale>
#include <cwchar>
#include <cwctype>
#include <unordered_set>

namespace sluice::ops {

namespace {

enum class letter_case : std::uint8_t { as_is, lower, upper };

letter_case read_case(const attribute_map& a) {
  const auto action = a.get<std::string>("case_change_action", "NONE");
  if (action == "NONE")
    return letter_case::as_is;
  if (action == "LOWER")
    return letter_case::lower;
  if (action == "UPPER")
    return letter_case::upper;
  throw error{errc::invalid_graph, "case_change_action '" + action + "' is none of LOWER, UPPER, NONE"};
}

/// Appends a code point as UTF-8.
void append_utf8(std::string& s, char32_t c) {
  const auto put = [&](char32_t byte) { s.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6));
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3f));
    put(0x80 | ((c >> 6) & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

/// Bytes of the UTF-8 sequence at the start of `s` and its code point; 0 if it is malformed.
std::pair<std::size_t, char32_t> next_utf8(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto lead = byte(0);
  if (lead < 0x80)
    return {1, lead};
  const std::size_t n = lead >= 0xf0 && lead < 0xf8 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (n == 0 || lead >= 0xf8 || s.size() < n)
    return {0, 0};
  char32_t c = lead & (0x7fu >> n);
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return {0, 0};
    c = (c << 6) | (byte(i) & 0x3f);
  }
  return {n, c};
}

/// The letters of UTF-8 text in the other case, by the C library's tables of Unicode; bytes that are no UTF-8
/// stay.
std::string with_case(std::string_view s, letter_case wanted) {
  static const auto unicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  std::string result;
  result.reserve(s.size());
  while (!s.empty()) {
    const auto [n, c] = next_utf8(s);
    if (n == 0 || wanted == letter_case::as_is) {
      result.push_back(s.front());
      s.remove_prefix(1);
      continue;
    }
    const auto letter = static_cast<wint_t>(c);
    if (unicode)
      append_utf8(result,
                  static_cast<char32_t>(wanted == letter_case::lower ? ::towlower_l(letter, unicode)
                                                                     : ::towupper_l(letter, unicode)));
    else
      append_utf8(result, static_cast<char32_t>(wanted == letter_case::lower ? ::towlower(letter)
                                                                             : ::towupper(letter)));
    s.remove_prefix(n);
  }
  return result;
}

std::unique_ptr<prepared_kernel> string_normalizer(const kernel_request& r) {
  const auto& a = r.op.attributes();
  const auto wanted = read_case(a);
  const auto compared = a.get<std::int64_t>("is_case_sensitive", 0) ? letter_case::as_is : letter_case::lower;
  std::unordered_set<std::string> stopwords;
  for (const auto& word : a.get<std::vector<std::string>>("stopwords", {}))
    stopwords.insert(with_case(word, compared));
  return make_kernel([=](kernel_context& ctx) {
    const auto& s = ctx.input(0).shape();
    if (s.rank() != 1 && !(s.rank() == 2 && s[0] == 1))
      throw error{errc::kernel_failed, "StringNormalizer takes [C] or [1, C], not " + to_string(s)};
    std::vector<std::string> kept;
    for (const auto& word : ctx.input(0).data<std::string>())
      if (!stopwords.contains(with_case(word, compared)))
        kept.push_back(with_case(word, wanted));
    if (kept.empty())
      kept.emplace_back();
    auto& y = ctx.output(0, s.with(s.rank() - 1, static_cast<std::int64_t>(kept.size())));
    std::move(kept.begin(), kept.end(), y.data<std::string>().begin());
  });
}

std::vector<value_type> infer_normalized(const op_view& op) {
  require_element(op, 0, {element_type::string});
  const auto& s = op.shape(0);
  if (!s.has_rank())
    return {value_type{element_type::string, {}}};
  if (s.rank() == 1)
    return {value_type{element_type::string, {dim{}}}};
  return {value_type{element_type::string, {1, dim{}}}};
}

/// Counts n-grams row by row; the matrix is a row where the input is.
template <class Token>
void vectorize(kernel_context& ctx, const ngrams<Token>& grams) {
  const auto& s = ctx.input(0).shape();
  if (s.rank() != 1 && s.rank() != 2)
    throw error{errc::kernel_failed, "TfIdfVectorizer takes [C] or [N, C], not " + to_string(s)};
  const auto tokens = ctx.input(0).template data<Token>();
  const auto columns = static_cast<std::int64_t>(grams.columns());
  const auto rows = s.rank() == 1 ? 1 : s[0];
  const auto y = ctx.output(0, s.with(s.rank() - 1, columns)).template data<float>();
  std::fill(y.begin(), y.end(), 0.0f);
  const auto length = static_cast<std::size_t>(s[s.rank() - 1]);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row)
    grams.weigh(tokens.subspan(row * length, length), y.subspan(row * grams.columns(), grams.columns()));
}

std::unique_ptr<prepared_kernel> tfidf(const kernel_request& r) {
  const auto& a = r.op.attributes();
  const auto options = read_ngram_options(a);
  switch (r.op.element(0)) {
  case element_type::string: {
    auto grams =
        std::make_shared<const ngrams<std::string>>(options, a.get<std::vector<std::string>>("pool_strings"));
    return make_kernel([grams](kernel_context& ctx) { vectorize(ctx, *grams); });
  }
  case element_type::int64: {
    auto grams = std::make_shared<const ngrams<std::int64_t>>(
        options, a.get<std::vector<std::int64_t>>("pool_int64s"));
    return make_kernel([grams](kernel_context& ctx) { vectorize(ctx, *grams); });
  }
  case element_type::int32: {
    const auto& pool = a.get<std::vector<std::int64_t>>("pool_int64s");
    std::vector<std::int32_t> narrow;
    for (const auto token : pool)
      narrow.push_back(static_cast<std::int32_t>(token));
    auto grams = std::make_shared<const ngrams<std::int32_t>>(options, narrow);
    return make_kernel([grams](kernel_context& ctx) { vectorize(ctx, *grams); });
  }
  default:
    throw error{errc::unsupported, "TfIdfVectorizer takes strings, int32 or int64"};
  }
}

std::vector<value_type> infer_tfidf(const op_view& op) {
  const auto columns = static_cast<std::int64_t>(read_ngram_options(op.attributes()).columns());
  const auto& s = op.shape(0);
  if (!s.has_rank())
    return {value_type{element_type::float32, {}}};
  if (s.rank() == 2)
    return {value_type{element_type::float32, {s[0], columns}}};
  return {value_type{element_type::float32, {columns}}};
}

} // namespace

void register_text(operator_library& lib) {
  lib.add({.name = "StringNormalizer", .since_opset = 10, .infer = infer_normalized},
          {.prepare = string_normalizer});
  lib.add({.name = "TfIdfVectorizer", .since_opset = 9, .infer = infer_tfidf}, {.prepare = tfidf});
}

} // namespace sluice::ops
