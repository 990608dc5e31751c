#include <sluice/scheduler/tensor_slices.hpp>

#include <cstring>

namespace sluice {

namespace {

/// Copies `count` blocks of `block` elements between tensors of one type, with strides in elements.
void copy_blocks(const tensor& from, std::int64_t from_offset, std::int64_t from_stride, tensor& to,
                 std::int64_t to_offset, std::int64_t to_stride, std::int64_t count, std::int64_t block) {
  if (from.type() == element_type::string) {
    const auto source = from.data<std::string>();
    const auto target = to.data<std::string>();
    for (std::int64_t i = 0; i < count; ++i)
      std::copy_n(source.begin() + from_offset + i * from_stride, block,
                  target.begin() + to_offset + i * to_stride);
    return;
  }
  const auto size = size_of(from.type());
  const auto bytes = [size](std::int64_t n) { return static_cast<std::size_t>(n) * size; };
  const auto* source = static_cast<const std::byte*>(from.raw());
  auto* target = static_cast<std::byte*>(to.raw());
  for (std::int64_t i = 0; i < count && block > 0; ++i)
    std::memcpy(target + bytes(to_offset + i * to_stride), source + bytes(from_offset + i * from_stride),
                bytes(block));
}

shape without_axis(const shape& s, std::size_t axis) {
  std::vector<std::int64_t> dims{s.begin(), s.end()};
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return shape{dims};
}

shape with_axis(const shape& s, std::size_t axis, std::int64_t extent) {
  std::vector<std::int64_t> dims{s.begin(), s.end()};
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), extent);
  return shape{dims};
}

} // namespace

value slice_at(const value& whole, std::size_t axis, std::int64_t index, memory& from) {
  const auto& t = whole.tensor();
  const auto s = without_axis(t.shape(), axis);
  if (axis == 0)
    return tensor::reshaped(tensor::rows(whole, index, 1), s);
  auto slice = tensor::make(t.type(), s, from);
  const auto block = t.shape().product(axis + 1, t.shape().rank());
  copy_blocks(t, index * block, t.shape()[axis] * block, *slice, 0, block, t.shape().product(0, axis), block);
  return slice;
}

value stack(std::span<const value> items, std::size_t axis, bool reversed, const value_type& empty_type,
            memory& from) {
  if (items.empty()) {
    std::vector<std::int64_t> dims;
    if (empty_type.is_tensor() && empty_type.shape().has_rank())
      for (const auto& d : empty_type.shape().dims())
        dims.push_back(d.known() ? d.extent() : 0);
    return tensor::make(empty_type.element(), with_axis(shape{dims}, std::min(axis, dims.size()), 0), from);
  }
  const auto& first = items.front().tensor();
  if (axis > first.shape().rank())
    throw error{errc::kernel_failed,
                "slices " + describe(items.front()) + " cannot be stacked on axis " + std::to_string(axis)};
  const auto n = static_cast<std::int64_t>(items.size());
  auto whole = tensor::make(first.type(), with_axis(first.shape(), axis, n), from);
  const auto block = first.shape().product(axis, first.shape().rank());
  for (std::int64_t i = 0; i < n; ++i) {
    const auto& item = items[static_cast<std::size_t>(i)];
    const auto& t = item.tensor();
    if (t.type() != first.type() || t.shape() != first.shape())
      throw error{errc::kernel_failed,
                  "one step gave " + describe(items.front()) + ", another " + describe(item)};
    const auto place = reversed ? n - 1 - i : i;
    copy_blocks(t, 0, block, *whole, place * block, n * block, first.shape().product(0, axis), block);
  }
  return whole;
}

} // namespace sluice
