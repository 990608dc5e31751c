#include <sluice/actors/joint_run.hpp>

#include <sluice/actors/batch_items.hpp>
#include <sluice/graph/tensor_block.hpp>

#include <cstring>

namespace sluice {

namespace {

/// The same tensor, or one of the same few bytes.
bool same_value(const value& a, const value& b) {
  constexpr std::size_t most_compared = 4096;
  if (a.body() == b.body())
    return true;
  if (!a.is(value_kind::tensor) || !b.is(value_kind::tensor))
    return false;
  const auto& x = a.tensor();
  const auto& y = b.tensor();
  return x.type() == y.type() && x.type() != element_type::string && x.shape() == y.shape() &&
         x.bytes() == y.bytes() && x.bytes() <= most_compared &&
         std::memcmp(x.raw(), y.raw(), x.bytes()) == 0;
}

shape joint_shape(const joint_run& run, const batch_axes& axes, std::size_t feed) {
  const auto count = static_cast<std::int64_t>(run.requests.size());
  return run.requests.front()->feeds[feed].tensor().shape().with(*axes.fed[feed], count * axes.items);
}

} // namespace

std::size_t joint_feed_bytes(const joint_run& run, const batch_axes& axes) {
  std::size_t bytes = 0;
  for (std::size_t f = 0; f < axes.fed.size(); ++f)
    if (axes.fed[f])
      bytes += tensor_block_bytes(static_cast<std::size_t>(joint_shape(run, axes, f).elements()) *
                                  size_of(run.requests.front()->feeds[f].tensor().type()));
  return bytes;
}

std::optional<std::vector<value>> joint_feeds(const joint_run& run, const batch_axes& axes) {
  std::vector<value> feeds;
  for (std::size_t f = 0; f < axes.fed.size(); ++f) {
    const auto& first = run.requests.front()->feeds[f];
    if (!axes.fed[f]) {
      for (const auto& r : run.requests)
        if (!same_value(r->feeds[f], first))
          return std::nullopt;
      feeds.push_back(first);
      continue;
    }
    const value all = tensor::make(first.tensor().type(), joint_shape(run, axes, f), *run.memory);
    std::int64_t at = 0;
    for (const auto& r : run.requests) {
      put_rows(r->feeds[f], all, *axes.fed[f], at);
      at += axes.items;
    }
    feeds.push_back(all);
  }
  return feeds;
}

std::vector<value> results_of_one(const std::vector<value>& all, const batch_axes& axes, std::size_t i) {
  std::vector<value> mine;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const auto rows = axes.fetched_rows[r] * axes.items;
    mine.push_back(
        rows_of(all[r], axes.fetched[r], static_cast<std::int64_t>(i) * rows, rows, memory::heap()));
  }
  return mine;
}

} // namespace sluice
