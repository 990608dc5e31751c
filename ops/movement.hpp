#pragma once

#include <sluice/devices/kernel_context.hpp>
#include <sluice/devices/operator_library.hpp>
#include <sluice/graph/tensor.hpp>

#include <boost/container/static_vector.hpp>

#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// What the operators that only move elements share: they do not care about types, only about sizes.
namespace sluice::ops {

/// Sixteen bytes that are moved, never looked at.
struct raw128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// Calls `f(std::type_identity<T>{})` with a type as large as an element of type `t`: an unsigned integer,
/// raw128, or std::string.
template <class F>
decltype(auto) visit_element_size(element_type t, F&& f) {
  using std::type_identity;
  if (t == element_type::string)
    return f(type_identity<std::string>{});
  switch (size_of(t)) {
  case 1:
    return f(type_identity<std::uint8_t>{});
  case 2:
    return f(type_identity<std::uint16_t>{});
  case 4:
    return f(type_identity<std::uint32_t>{});
  case 8:
    return f(type_identity<std::uint64_t>{});
  case 16:
    return f(type_identity<raw128>{});
  default:
    throw error{errc::invalid_argument, "a tensor without an element type"};
  }
}

/// The elements of an integer tensor such as axes, indices or a shape. Throws errc::kernel_failed unless they
/// are int32 or int64.
[[nodiscard]] std::vector<std::int64_t> integers_of(const tensor& t);

/// The integers that newer opsets take as input `i` and older ones as an attribute that was read before.
[[nodiscard]] std::vector<std::int64_t> integers_of(const kernel_context& ctx, std::size_t i,
                                                    const std::vector<std::int64_t>& otherwise);

/// `axis` counted from the front. Throws errc::kernel_failed if it is out of range.
[[nodiscard]] std::size_t axis_of(std::int64_t axis, std::size_t rank);

[[noreturn]] void index_out_of_range(std::int64_t index, std::int64_t extent);

/// `index` counted from the front of an axis of `extent`. Throws errc::kernel_failed if it is out of range.
[[nodiscard]] inline std::int64_t index_of(std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent)
    index_out_of_range(index, extent);
  return index < 0 ? index + extent : index;
}

/// Up to twice as many numbers as a tensor has axes.
using axis_list = boost::container::static_vector<std::int64_t, 2 * shape::max_rank>;

[[nodiscard]] inline shape shape_of(const axis_list& extents) {
  return shape{std::span<const std::int64_t>{extents.data(), extents.size()}};
}

/// How many elements apart neighbours on each axis are, row-major.
[[nodiscard]] axis_list strides_of(const shape& s);

/// A box of elements to copy. Strides count elements: 0 repeats one, a negative stride walks backwards.
class strided_copy {
public:
  /// Adds an axis inside those that are there.
  void axis(std::int64_t extent, std::int64_t source_stride, std::int64_t target_stride) {
    extents_.push_back(extent);
    sources_.push_back(source_stride);
    targets_.push_back(target_stride);
  }

  /// Copies, on the context's threads. `source` and `target` point at the elements with all indices zero;
  /// every index must stay inside their memory, and no target element may be written twice.
  void run(const kernel_context& ctx, element_type type, const void* source, void* target) const;

private:
  template <class T>
  void run_typed(const kernel_context& ctx, const T* source, T* target) const;

  axis_list extents_;
  axis_list sources_;
  axis_list targets_;
};

/// Permutes axes: axis i of `target` is axis permutation[i] of `source`, which has shape `s`.
void permute(const kernel_context& ctx, element_type type, const shape& s,
             std::span<const std::size_t> permutation, const void* source, void* target);

/// Copies `n` elements from `source` to `target`; they must not overlap.
void copy_elements(element_type type, const void* source, void* target, std::int64_t n);

/// The address of element `i`, which may be before the first.
[[nodiscard]] inline const void* element_at(element_type type, const void* first, std::int64_t i) {
  return static_cast<const std::byte*>(first) + i * static_cast<std::int64_t>(size_of(type));
}
[[nodiscard]] inline void* element_at(element_type type, void* first, std::int64_t i) {
  return static_cast<std::byte*>(first) + i * static_cast<std::int64_t>(size_of(type));
}

/// A kernel for all shapes that needs nothing but its inputs.
template <class F>
[[nodiscard]] kernel_entry plain_kernel(F f) {
  return {[f](const kernel_request&) { return make_kernel(f); }};
}

/// So many items of `work` elements each that a chunk is worth another thread.
[[nodiscard]] inline std::size_t grain_for(std::int64_t work) {
  constexpr std::int64_t worth = 16 * 1024;
  return static_cast<std::size_t>(std::max<std::int64_t>(1, worth / std::max<std::int64_t>(1, work)));
}

} // namespace sluice::ops
