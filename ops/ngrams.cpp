#include <sluice/ops/ngrams.hpp>

namespace sluice::ops {

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw error{errc::invalid_graph, why};
}

std::size_t count_of(const attribute_map& a, std::string_view name) {
  const auto n = a.get<std::int64_t>(name);
  if (n < 0)
    refuse("attribute " + std::string{name} + " is negative");
  return static_cast<std::size_t>(n);
}

} // namespace

ngram_options read_ngram_options(const attribute_map& a) {
  ngram_options options;
  const auto& mode = a.get<std::string>("mode");
  if (mode == "TF")
    options.mode = ngram_options::weighting::tf;
  else if (mode == "IDF")
    options.mode = ngram_options::weighting::idf;
  else if (mode == "TFIDF")
    options.mode = ngram_options::weighting::tfidf;
  else
    refuse("mode '" + mode + "' is none of TF, IDF, TFIDF");
  options.shortest = count_of(a, "min_gram_length");
  options.longest = count_of(a, "max_gram_length");
  options.skips = count_of(a, "max_skip_count");
  options.starts = a.get<std::vector<std::int64_t>>("ngram_counts");
  options.indexes = a.get<std::vector<std::int64_t>>("ngram_indexes");
  options.weights = a.get<std::vector<float>>("weights", {});
  if (options.shortest == 0 || options.shortest > options.longest)
    refuse("n-grams of " + std::to_string(options.shortest) + " to " + std::to_string(options.longest) +
           " tokens cannot be");
  for (const auto i : options.indexes)
    if (i < 0 || i > std::int64_t{1} << 40)
      refuse("ngram_indexes has " + std::to_string(i));
  if (!options.weights.empty() && options.weights.size() != options.indexes.size())
    refuse(std::to_string(options.weights.size()) + " weights for " + std::to_string(options.indexes.size()) +
           " n-grams");
  return options;
}

void check_ngram_pool(const ngram_options& options, std::size_t tokens) {
  std::size_t grams = 0;
  for (std::size_t n = 1; n <= options.starts.size(); ++n) {
    const auto first = options.starts[n - 1];
    const auto last = n < options.starts.size() ? options.starts[n] : static_cast<std::int64_t>(tokens);
    if (first < 0 || last < first || last > static_cast<std::int64_t>(tokens) ||
        static_cast<std::size_t>(last - first) % n != 0)
      refuse("ngram_counts does not cut the pool of " + std::to_string(tokens) + " tokens into n-grams");
    grams += static_cast<std::size_t>(last - first) / n;
  }
  if (grams != options.indexes.size())
    refuse(std::to_string(options.indexes.size()) + " ngram_indexes for " + std::to_string(grams) +
           " n-grams");
}

} // namespace sluice::ops
