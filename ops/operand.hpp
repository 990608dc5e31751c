#pragma once

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/gemm.hpp>

#include <cstdint>

/// Inputs and outputs of products in the type they are computed in.
namespace sluice::ops {

/// Elements that live as long as one execution, charged like any tensor.
template <class C>
class scratch_array {
public:
  scratch_array() = default;
  scratch_array(const kernel_context& ctx, std::size_t n) : scratch_array(ctx.allocator(), n) {}
  scratch_array(memory& from, std::size_t n) {
    if (n > 0)
      block_ = tensor::make(element_type::uint8, {static_cast<std::int64_t>(n * sizeof(C))}, from);
  }
  [[nodiscard]] C* data() const noexcept { return block_ ? static_cast<C*>(block_->raw()) : nullptr; }

private:
  intrusive_ptr<tensor> block_;
};

/// The elements of `t` as their compute type: in place where that is how they lie, otherwise converted.
template <class T>
class computable {
  using C = compute_type<T>;

public:
  /// `ctx` is null while a kernel is prepared.
  computable(const kernel_context* ctx, const tensor& t) {
    const auto from = t.data<T>();
    if constexpr (sizeof(C) == sizeof(T)) {
      data_ = reinterpret_cast<const C*>(from.data());
    } else {
      converted_ = scratch_array<C>{ctx ? ctx->allocator() : memory::heap(), from.size()};
      for (std::size_t i = 0; i < from.size(); ++i)
        converted_.data()[i] = static_cast<C>(from[i]);
      data_ = converted_.data();
    }
  }
  [[nodiscard]] const C* data() const noexcept { return data_; }

private:
  const C* data_;
  scratch_array<C> converted_;
};

/// Output `i`, written in its compute type; finish() converts it.
template <class T>
class computed_output {
  using C = compute_type<T>;

public:
  computed_output(kernel_context& ctx, std::size_t i, const shape& s)
    : to_(ctx.output(i, element_type_of<T>, s).template data<T>()) {
    if constexpr (sizeof(C) == sizeof(T)) {
      data_ = reinterpret_cast<C*>(to_.data());
    } else {
      computed_ = scratch_array<C>{ctx, to_.size()};
      data_ = computed_.data();
    }
  }
  [[nodiscard]] C* data() const noexcept { return data_; }
  void finish() {
    if constexpr (sizeof(C) != sizeof(T))
      for (std::size_t i = 0; i < to_.size(); ++i)
        to_[i] = T{data_[i]};
  }

private:
  std::span<T> to_;
  C* data_;
  scratch_array<C> computed_;
};

/// The types that matrices are multiplied in.
using product_types = decltype(float_types{} +
                               type_list<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>{});

} // namespace sluice::ops
