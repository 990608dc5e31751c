#include <sluice/graph/shape.hpp>

#include <sluice/graph/error.hpp>

namespace sluice {

namespace {

constexpr std::int64_t max_elements = std::int64_t{1} << 62;

std::string joined(std::span<const std::int64_t> dims) {
  std::string s = "[";
  for (std::size_t i = 0; i < dims.size(); ++i)
    s += (i ? ", " : "") + std::to_string(dims[i]);
  return s + ']';
}

} // namespace

shape::shape(std::span<const std::int64_t> dims) : rank_(dims.size()) {
  if (dims.size() > max_rank)
    throw error{errc::invalid_argument, "a shape of rank " + std::to_string(dims.size()) + "; at most " +
                                            std::to_string(max_rank) + " is supported"};
  std::int64_t bound = 1; // of the elements, zero extents left out: later products cannot overflow either
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0)
      throw error{errc::invalid_argument, "shape " + joined(dims) + " has a negative extent"};
    if (dims[i] > 0 && bound > max_elements / dims[i])
      throw error{errc::invalid_argument, "shape " + joined(dims) + " has too many elements"};
    bound *= std::max<std::int64_t>(dims[i], 1);
    dims_[i] = dims[i];
  }
}

shape shape::with(std::size_t axis, std::int64_t extent) const {
  auto dims = dims_;
  dims[axis] = extent;
  return shape{std::span<const std::int64_t>{dims.data(), rank_}};
}

std::string to_string(const shape& s) {
  return joined(s.dims());
}

partial_shape::partial_shape(const shape& s) : dims_(std::vector<dim>(s.begin(), s.end())) {}

bool partial_shape::known() const noexcept {
  return dims_ && std::all_of(dims_->begin(), dims_->end(), [](const dim& d) { return d.known(); });
}

std::optional<shape> partial_shape::to_shape() const {
  if (!known())
    return std::nullopt;
  std::vector<std::int64_t> extents;
  for (const auto& d : *dims_)
    extents.push_back(d.extent());
  return shape{extents};
}

bool partial_shape::admits(const shape& s) const noexcept {
  if (!dims_)
    return true;
  if (dims_->size() != s.rank())
    return false;
  for (std::size_t i = 0; i < s.rank(); ++i)
    if ((*dims_)[i].known() && (*dims_)[i].extent() != s[i])
      return false;
  return true;
}

std::optional<partial_shape> partial_shape::merged(const partial_shape& other) const {
  if (!dims_)
    return other;
  if (!other.dims_)
    return *this;
  if (dims_->size() != other.dims_->size())
    return std::nullopt;
  auto result = *dims_;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto& theirs = (*other.dims_)[i];
    if (result[i].known() && theirs.known() && result[i].extent() != theirs.extent())
      return std::nullopt;
    if (!result[i].known() && (theirs.known() || result[i].symbol().empty()))
      result[i] = theirs;
  }
  return partial_shape{std::move(result)};
}

std::string to_string(const partial_shape& s) {
  if (!s.has_rank())
    return "[...]";
  std::string text = "[";
  for (std::size_t i = 0; i < s.rank(); ++i) {
    text += i ? ", " : "";
    text += s[i].known() ? std::to_string(s[i].extent()) : s[i].symbol().empty() ? "?" : s[i].symbol();
  }
  return text + ']';
}

} // namespace sluice
