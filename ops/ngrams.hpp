#pragma once

#include <sluice/graph/attributes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice::ops {

/// What TfIdfVectorizer's attributes say, apart from the n-grams themselves.
struct ngram_options {
  enum class weighting : std::uint8_t { tf, idf, tfidf };
  weighting mode = weighting::tf;
  std::size_t shortest = 1;
  std::size_t longest = 1;
  std::size_t skips = 0;             ///< most tokens left out between two of an n-gram
  std::vector<std::int64_t> starts;  ///< where the 1-grams, 2-grams, … start in the pool
  std::vector<std::int64_t> indexes; ///< of each n-gram in the output
  std::vector<float> weights;        ///< of each n-gram; empty: all 1

  [[nodiscard]] std::size_t columns() const noexcept {
    const auto largest = std::max_element(indexes.begin(), indexes.end());
    return largest == indexes.end() ? 0 : static_cast<std::size_t>(*largest) + 1;
  }
};

/// Reads and checks the attributes; throws errc::invalid_graph.
[[nodiscard]] ngram_options read_ngram_options(const attribute_map& a);

/// Throws errc::invalid_graph unless a pool of `tokens` tokens holds the n-grams that the options describe.
void check_ngram_pool(const ngram_options& options, std::size_t tokens);

/// A set of n-grams as a tree of their tokens, counted in sequences. Immutable.
template <class Token>
class ngrams {
public:
  /// Throws errc::invalid_graph if the pool does not fit the options.
  ngrams(ngram_options options, std::span<const Token> pool) : options_(std::move(options)) {
    check_ngram_pool(options_, pool.size());
    std::size_t gram = 0;
    for (std::size_t n = 1; n <= options_.starts.size(); ++n) {
      const auto first = static_cast<std::size_t>(options_.starts[n - 1]);
      const auto last =
          n < options_.starts.size() ? static_cast<std::size_t>(options_.starts[n]) : pool.size();
      for (auto at = first; at < last; at += n)
        add(pool.subspan(at, n), gram++);
    }
  }

  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }

  /// Adds what the n-grams of `tokens` weigh to `row`, which has columns() zeros.
  void weigh(std::span<const Token> tokens, std::span<float> row) const {
    std::vector<std::uint32_t> ids;
    ids.reserve(tokens.size());
    for (const auto& token : tokens) {
      const auto found = ids_.find(token);
      ids.push_back(found == ids_.end() ? unknown : found->second);
    }
    for (std::size_t skip = 0; skip <= options_.skips; ++skip) {
      const auto step = skip + 1;
      if (skip > 0 && (options_.longest < 2 || step >= ids.size()))
        break; // single tokens were counted, and two no longer fit
      for (std::size_t start = 0; start < ids.size(); ++start)
        count_from(ids, start, step, row);
    }
  }

private:
  static constexpr std::uint32_t unknown = ~std::uint32_t{0};
  static constexpr std::size_t no_gram = ~std::size_t{0};

  static std::uint64_t branch(std::uint32_t node, std::uint32_t token) {
    return (std::uint64_t{node} << 32) | token;
  }

  void add(std::span<const Token> tokens, std::size_t gram) {
    std::uint32_t node = 0;
    for (const auto& token : tokens) {
      const auto id = ids_.try_emplace(token, static_cast<std::uint32_t>(ids_.size())).first->second;
      const auto next = static_cast<std::uint32_t>(grams_.size());
      const auto [entry, is_new] = branches_.try_emplace(branch(node, id), next);
      if (is_new)
        grams_.push_back(no_gram);
      node = entry->second;
    }
    grams_[node] = gram;
  }

  void count_from(std::span<const std::uint32_t> ids, std::size_t start, std::size_t step,
                  std::span<float> row) const {
    std::uint32_t node = 0;
    std::size_t length = 1;
    for (auto at = start; at < ids.size() && length <= options_.longest; at += step, ++length) {
      const auto entry = branches_.find(branch(node, ids[at]));
      if (entry == branches_.end())
        return;
      node = entry->second;
      if (length >= options_.shortest && (length > 1 || step == 1) && grams_[node] != no_gram)
        count(grams_[node], row);
    }
  }

  void count(std::size_t gram, std::span<float> row) const {
    auto& cell = row[static_cast<std::size_t>(options_.indexes[gram])];
    const auto weight = options_.weights.empty() ? 1.0f : options_.weights[gram];
    switch (options_.mode) {
    case ngram_options::weighting::tf:
      cell += 1.0f;
      break;
    case ngram_options::weighting::idf:
      cell = weight;
      break;
    case ngram_options::weighting::tfidf:
      cell += weight;
      break;
    }
  }

  const ngram_options options_;
  const std::size_t columns_ = options_.columns();
  std::unordered_map<Token, std::uint32_t> ids_;
  std::unordered_map<std::uint64_t, std::uint32_t> branches_; // (node, token) to node
  std::vector<std::size_t> grams_{no_gram};                   // which n-gram ends at a node
};

} // namespace sluice::ops
