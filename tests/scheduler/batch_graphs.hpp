#pragma once

#include <sluice/graph/graph_builder.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/batch_axes.hpp>
#include <sluice/scheduler/evaluate.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace sluice::test {

/// A request that feeds all inputs with tensors of the given shapes and fetches all outputs.
inline plan_request request_for(const graph& g, const std::vector<shape>& shapes) {
  plan_request request;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    request.fed.push_back(
        {g.inputs()[i], {g.at_edge(g.inputs()[i]).type.element(), partial_shape{shapes[i]}}, {}});
  std::sort(request.fed.begin(), request.fed.end(),
            [](const auto& a, const auto& b) { return a.edge < b.edge; });
  request.fetch.assign(g.outputs().begin(), g.outputs().end());
  return request;
}

inline batch_verdict axes_of(const graph& g, const std::vector<shape>& shapes,
                             fixed_batch fixed = fixed_batch::stays) {
  const auto operators = standard_operators();
  return find_batch_axes(g, *operators, fold_constants(g, *operators, memory::heap()), request_for(g, shapes),
                         fixed);
}

/// Rows [first, first + count) of any axis, copied.
inline value part_of(const value& whole, std::size_t axis, std::int64_t first, std::int64_t count) {
  const auto& from = whole.tensor();
  auto made = tensor::make(from.type(), from.shape().with(axis, count));
  const auto outer = from.shape().product(0, axis);
  const auto row =
      static_cast<std::size_t>(from.shape().product(axis + 1, from.shape().rank())) * size_of(from.type());
  const auto rows = from.shape()[axis];
  for (std::int64_t o = 0; o < outer; ++o)
    std::memcpy(static_cast<char*>(made->raw()) + static_cast<std::size_t>(o * count) * row,
                static_cast<const char*>(from.raw()) + static_cast<std::size_t>(o * rows + first) * row,
                static_cast<std::size_t>(count) * row);
  return made;
}

/// Values that no two elements share, small enough for every operator.
inline value numbered(element_type type, const shape& s, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  auto t = tensor::make(type, s);
  if (type == element_type::float32)
    for (auto& e : t->data<float>())
      e = std::uniform_real_distribution<float>{-1, 1}(random);
  else if (type == element_type::int64)
    for (auto& e : t->data<std::int64_t>())
      e = std::uniform_int_distribution<std::int64_t>{0, 3}(random);
  else if (type == element_type::int32)
    for (auto& e : t->data<std::int32_t>())
      e = std::uniform_int_distribution<std::int32_t>{0, 255}(random);
  return t;
}

/// The largest difference between a batch of `items` and as many single items, over all outputs.
/// @param inputs  one for each of the graph's inputs, for a batch of `items`
inline double batch_against_singles(const graph& g, const std::vector<value>& inputs, std::int64_t items,
                                    const batch_axes& axes) {
  const auto operators = standard_operators();
  const auto whole = evaluate(*operators, g, inputs);
  double worst = 0;
  for (std::int64_t i = 0; i < items; ++i) {
    std::vector<value> single;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      single.push_back(axes.fed[k] ? part_of(inputs[k], *axes.fed[k], i, 1) : inputs[k]);
    const auto results = evaluate(*operators, g, single);
    for (std::size_t o = 0; o < results.size(); ++o) {
      const auto rows = axes.fetched_rows[o];
      const auto cut = part_of(whole[o], axes.fetched[o], i * rows, rows);
      if (cut.tensor().shape() != results[o].tensor().shape())
        return std::numeric_limits<double>::infinity();
      if (cut.tensor().type() != element_type::float32) {
        if (std::memcmp(cut.tensor().raw(), results[o].tensor().raw(), cut.tensor().bytes()) != 0)
          return std::numeric_limits<double>::infinity();
        continue;
      }
      const auto a = cut.tensor().data<float>();
      const auto b = results[o].tensor().data<float>();
      for (std::size_t e = 0; e < a.size(); ++e)
        worst = std::max(worst, std::abs(static_cast<double>(a[e]) - static_cast<double>(b[e])));
    }
  }
  return worst;
}

} // namespace sluice::test
