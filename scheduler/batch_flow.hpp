#pragma once

#include <sluice/graph/graph.hpp>
#include <sluice/graph/value_type.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A whole number as a function of the number of items: fixed + per_item * N.
struct batch_extent {
  std::int64_t fixed = 0;
  std::int64_t per_item = 0;

  [[nodiscard]] std::int64_t at(std::int64_t items) const noexcept { return fixed + per_item * items; }
  friend bool operator==(const batch_extent&, const batch_extent&) noexcept = default;
};

/// What is known of the values on an edge while batch axes are looked for.
struct batch_flow {
  enum class kind : std::uint8_t {
    shared,  ///< the same for all items, and for every number of them
    batched, ///< item i has the rows [i * rows, (i + 1) * rows) of `axis`
    sized,   ///< whole numbers that follow from the number of items
  };

  kind what = kind::shared;
  std::size_t axis = 0;
  std::int64_t rows = 1;
  std::vector<batch_extent> numbers; ///< sized: the elements, in order
  value_type type;                   ///< for `batch_probe` items
  value known;                       ///< shared: its value, if it is known

  [[nodiscard]] bool shared() const noexcept { return what == kind::shared; }
  [[nodiscard]] bool batched() const noexcept { return what == kind::batched; }
};

/// Types are inferred for so many items. Not 1, which would broadcast.
inline constexpr std::int64_t batch_probe = 13;

/// Why the items of a batch are not independent of each other, without the name of the node.
struct batch_obstacle {
  std::string why;
};

/// A node as its operator's rule sees it. A rule sets the flows of the outputs, or throws batch_obstacle.
class batch_node {
public:
  batch_node(const graph::node& n, std::span<const batch_flow* const> inputs,
             std::span<batch_flow> outputs) noexcept
    : node_(n), inputs_(inputs), outputs_(outputs) {}

  [[nodiscard]] const graph::node& node() const noexcept { return node_; }
  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_.size(); }
  [[nodiscard]] std::size_t outputs() const noexcept { return outputs_.size(); }
  [[nodiscard]] bool has(std::size_t i) const noexcept { return i < inputs_.size() && inputs_[i]; }
  [[nodiscard]] const batch_flow& in(std::size_t i) const { return *inputs_[i]; }
  [[nodiscard]] batch_flow& out(std::size_t i) const { return outputs_[i]; }

  /// Throws if nothing is known of the rank.
  [[nodiscard]] std::size_t rank(std::size_t i) const;
  [[nodiscard]] std::size_t out_rank(std::size_t i) const;
  /// -1 if it is not known.
  [[nodiscard]] std::int64_t extent(std::size_t i, std::size_t axis) const;

  [[nodiscard]] std::int64_t attribute(std::string_view name, std::int64_t otherwise) const {
    return node_.attributes.get<std::int64_t>(name, otherwise);
  }
  /// The attribute, counted from the front of `rank` axes.
  [[nodiscard]] std::size_t axis_attribute(std::int64_t otherwise, std::size_t rank) const;
  /// The whole numbers in a known or sized input, or in the attribute where the input is left out; nullopt if
  /// neither is there. Throws if they are not known.
  [[nodiscard]] std::optional<std::vector<batch_extent>> numbers(std::size_t i, std::string_view name) const;

  /// Throws unless inputs [first, last) are shared or left out.
  void expect_shared(std::size_t first, std::size_t last = ~std::size_t{0}) const;
  void set_batched(std::size_t output, std::size_t axis, std::int64_t rows) const;
  void set_all_batched(std::size_t axis, std::int64_t rows) const {
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      set_batched(i, axis, rows);
  }

private:
  const graph::node& node_;
  std::span<const batch_flow* const> inputs_;
  std::span<batch_flow> outputs_;
};

using batch_rule = void (*)(const batch_node&);

/// The rule of an operator that has batched inputs; null if nothing is known of it.
[[nodiscard]] batch_rule find_batch_rule(std::string_view op);

/// The numbers that a node makes from sized inputs, by output; nullopt if it is none that calculates with
/// them. Throws batch_obstacle where the result is no multiple of the number of items.
[[nodiscard]] std::optional<std::vector<batch_extent>> calculate_sizes(const batch_node& n);

/// The whole numbers in a known value of few elements; nullopt if it has no such.
[[nodiscard]] std::optional<std::vector<std::int64_t>> known_numbers(const value& v);

/// How the target of a Reshape of `from` reads for any number of items: a 1 that the model fixes becomes the
/// batch. nullopt if it does already, or no 1 can.
[[nodiscard]] std::optional<std::vector<std::int64_t>>
grown_reshape_target(const batch_flow& from, const std::vector<std::int64_t>& target, bool allow_zero);

} // namespace sluice
