#include <sluice/ops/broadcast.hpp>

#include <sluice/graph/error.hpp>

#include <string>

namespace sluice::ops {

namespace {

shape broadcast_of(std::initializer_list<shape> arrays) {
  std::size_t rank = 0;
  for (const auto& s : arrays)
    rank = std::max(rank, s.rank());
  std::array<std::int64_t, shape::max_rank> dims{};
  std::fill_n(dims.begin(), rank, 1);
  for (const auto& s : arrays)
    for (std::size_t i = 0; i < s.rank(); ++i) {
      auto& d = dims[rank - s.rank() + i];
      if (d == 1)
        d = s[i];
      else if (s[i] != 1 && s[i] != d) {
        std::string shapes;
        for (const auto& each : arrays)
          shapes += (shapes.empty() ? "" : " and ") + to_string(each);
        throw error{errc::kernel_failed, "shapes " + shapes + " do not broadcast"};
      }
    }
  return shape{std::span<const std::int64_t>{dims.data(), rank}};
}

} // namespace

broadcast_plan::broadcast_plan(std::initializer_list<shape> arrays) : output_(broadcast_of(arrays)) {
  std::size_t merged = 0;
  offsets step{1, 1, 1}; // of each array's current axis
  for (auto k = output_.rank(); k-- > 0;) {
    axis here{.extent = static_cast<std::size_t>(output_[k])};
    std::size_t i = 0;
    for (const auto& s : arrays) {
      const auto missing = output_.rank() - s.rank();
      const auto extent = k < missing ? 1 : s[k - missing];
      here.strides[i] = extent == 1 ? 0 : step[i];
      step[i++] *= static_cast<std::size_t>(extent);
    }
    if (here.extent == 1)
      continue;
    bool continues = merged > 0;
    for (i = 0; i < arrays.size() && continues; ++i)
      continues = here.strides[i] == axes_[merged - 1].strides[i] * axes_[merged - 1].extent;
    if (continues)
      axes_[merged - 1].extent *= here.extent;
    else
      axes_[merged++] = here;
  }
  rank_ = std::max<std::size_t>(merged, 1);
}

shape aligned(const shape& a, const shape& b, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(a.rank());
  const auto of_b = static_cast<std::int64_t>(b.rank());
  const auto first = axis < 0 ? rank - of_b : axis;
  if (first < 0 || first + of_b > rank)
    throw error{errc::kernel_failed, "shape " + to_string(b) + " does not fit " + to_string(a) +
                                         " from axis " + std::to_string(axis) + " on"};
  std::array<std::int64_t, shape::max_rank> dims{};
  std::fill_n(dims.begin(), rank - first, 1);
  std::copy(b.begin(), b.end(), dims.begin());
  return shape{std::span<const std::int64_t>{dims.data(), static_cast<std::size_t>(rank - first)}};
}

} // namespace sluice::ops
