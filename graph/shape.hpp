#pragma once

#include <sluice/graph/export.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// The extents of a tensor: rank 0 (a scalar) to max_rank, each extent at least 0. A small value type.
class SLUICE_API shape {
public:
  static constexpr std::size_t max_rank = 8;

  shape() noexcept = default;
  /// Throws errc::invalid_argument for more than max_rank extents, a negative one, or more than 2^62
  /// elements.
  shape(std::initializer_list<std::int64_t> dims) : shape(std::span{dims.begin(), dims.size()}) {}
  explicit shape(std::span<const std::int64_t> dims);

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::int64_t operator[](std::size_t axis) const noexcept { return dims_[axis]; }
  [[nodiscard]] const std::int64_t* begin() const noexcept { return dims_.data(); }
  [[nodiscard]] const std::int64_t* end() const noexcept { return dims_.data() + rank_; }
  [[nodiscard]] std::span<const std::int64_t> dims() const noexcept { return {dims_.data(), rank_}; }

  /// Number of elements: the product of all extents, 1 for a scalar.
  [[nodiscard]] std::int64_t elements() const noexcept { return product(0, rank_); }

  /// Product of the extents of axes [first, last).
  [[nodiscard]] std::int64_t product(std::size_t first, std::size_t last) const noexcept {
    std::int64_t n = 1;
    for (auto i = first; i < last; ++i)
      n *= dims_[i];
    return n;
  }

  /// The same with the extent of `axis` replaced.
  [[nodiscard]] shape with(std::size_t axis, std::int64_t extent) const;

  friend bool operator==(const shape& a, const shape& b) noexcept {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }

private:
  std::array<std::int64_t, max_rank> dims_{};
  std::size_t rank_ = 0;
};

/// "[2, 3, 4]"
[[nodiscard]] SLUICE_API std::string to_string(const shape& s);

/// An extent that may be known, named by a symbol ("N"), or unknown.
class dim {
public:
  dim() = default;                                        ///< unknown
  dim(std::int64_t extent) : extent_(extent) {}           // NOLINT(google-explicit-constructor)
  dim(int extent) : extent_(extent) {}                    // NOLINT(google-explicit-constructor)
  dim(std::string symbol) : symbol_(std::move(symbol)) {} // NOLINT(google-explicit-constructor)
  dim(const char* symbol) : symbol_(symbol) {}            // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool known() const noexcept { return extent_ >= 0; }
  [[nodiscard]] std::int64_t extent() const noexcept { return extent_; } ///< -1 unless known
  [[nodiscard]] const std::string& symbol() const noexcept { return symbol_; }

  /// True if both are certainly the same extent: equal numbers or equal symbols.
  friend bool operator==(const dim& a, const dim& b) noexcept {
    return a.known() || b.known() ? a.extent_ == b.extent_ : !a.symbol_.empty() && a.symbol_ == b.symbol_;
  }

private:
  std::int64_t extent_ = -1;
  std::string symbol_;
};

/// What is known of a shape before data flow: nothing, the rank, or some extents.
class SLUICE_API partial_shape {
public:
  partial_shape() = default; ///< even the rank is unknown
  partial_shape(std::initializer_list<dim> dims) : dims_(std::vector<dim>(dims)) {}
  explicit partial_shape(std::vector<dim> dims) : dims_(std::move(dims)) {}
  partial_shape(const shape& s); // NOLINT(google-explicit-constructor): every shape is one that is known

  [[nodiscard]] bool has_rank() const noexcept { return dims_.has_value(); }
  [[nodiscard]] std::size_t rank() const noexcept { return dims_->size(); } ///< only if has_rank()
  [[nodiscard]] const dim& operator[](std::size_t axis) const noexcept { return (*dims_)[axis]; }
  [[nodiscard]] dim& operator[](std::size_t axis) noexcept { return (*dims_)[axis]; }
  [[nodiscard]] const std::vector<dim>& dims() const noexcept { return *dims_; } ///< only if has_rank()

  /// True if every extent is a number.
  [[nodiscard]] bool known() const noexcept;
  /// The shape, if every extent is a number.
  [[nodiscard]] std::optional<shape> to_shape() const;
  /// True unless `s` contradicts what is known.
  [[nodiscard]] bool admits(const shape& s) const noexcept;
  /// What both say together; nullopt if they contradict each other.
  [[nodiscard]] std::optional<partial_shape> merged(const partial_shape& other) const;

  friend bool operator==(const partial_shape&, const partial_shape&) noexcept = default;

private:
  std::optional<std::vector<dim>> dims_;
};

/// "[N, 3, ?, 4]", or "[...]" when even the rank is unknown.
[[nodiscard]] SLUICE_API std::string to_string(const partial_shape& s);

} // namespace sluice
