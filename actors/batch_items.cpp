#include <sluice/actors/batch_items.hpp>

#include <cstring>
#include <string>

namespace sluice {

namespace {

/// Copies `rows` rows of each of `outer` blocks.
struct row_copy {
  std::int64_t outer;
  std::int64_t rows;
  std::int64_t from_rows, from_first; ///< of the tensor that is read: extent of the axis, first row
  std::int64_t to_rows, to_first;
  std::int64_t inner; ///< elements of a row
};

template <class T>
void copy_elements(const row_copy& c, const T* from, T* to) {
  for (std::int64_t o = 0; o < c.outer; ++o)
    std::copy_n(from + (o * c.from_rows + c.from_first) * c.inner, c.rows * c.inner,
                to + (o * c.to_rows + c.to_first) * c.inner);
}

void copy_rows(const row_copy& c, const tensor& from, void* to) {
  if (from.type() == element_type::string)
    return copy_elements(c, static_cast<const std::string*>(from.raw()), static_cast<std::string*>(to));
  auto bytes = c;
  bytes.inner *= static_cast<std::int64_t>(size_of(from.type()));
  copy_elements(bytes, static_cast<const std::byte*>(from.raw()), static_cast<std::byte*>(to));
}

void expect_rows(const shape& s, std::size_t axis, std::int64_t first, std::int64_t count) {
  if (axis >= s.rank() || first < 0 || count < 0 || first > s[axis] - count)
    throw error{errc::invalid_argument, "rows " + std::to_string(first) + " to " +
                                            std::to_string(first + count) + " of axis " +
                                            std::to_string(axis) + " are not in " + to_string(s)};
}

} // namespace

bool copies_rows(const shape& whole, std::size_t axis) noexcept {
  return whole.product(0, axis) != 1;
}

value rows_of(const value& whole, std::size_t axis, std::int64_t first, std::int64_t count, memory& from) {
  const auto& source = whole.tensor();
  const auto& s = source.shape();
  expect_rows(s, axis, first, count);
  if (axis == 0)
    return tensor::rows(whole, first, count);
  if (!copies_rows(s, axis)) {
    const shape flat{std::span{s.begin() + axis, s.rank() - axis}};
    return tensor::reshaped(tensor::rows(tensor::reshaped(whole, flat), first, count), s.with(axis, count));
  }
  auto made = tensor::make(source.type(), s.with(axis, count), from);
  copy_rows({s.product(0, axis), count, s[axis], first, count, 0, s.product(axis + 1, s.rank())}, source,
            made->raw());
  return made;
}

void put_rows(const value& part, const value& whole, std::size_t axis, std::int64_t first) {
  const auto& from = part.tensor();
  const auto& to = whole.tensor();
  const auto& s = to.shape();
  const auto fits = from.type() == to.type() && from.shape().rank() == s.rank() && axis < s.rank() &&
                    from.shape().with(axis, s[axis]) == s && from.layout() == layout::plain;
  if (!fits)
    throw error{errc::invalid_argument, describe(part) + " is no part of " + describe(whole)};
  const auto count = from.shape()[axis];
  expect_rows(s, axis, first, count);
  copy_rows({s.product(0, axis), count, count, 0, s[axis], first, s.product(axis + 1, s.rank())}, from,
            const_cast<void*>(to.raw()));
}

} // namespace sluice
