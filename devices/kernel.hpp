#pragma once

#include <sluice/devices/executor.hpp>
#include <sluice/graph/op_schema.hpp>
#include <sluice/graph/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

class kernel_context;

/// How an execution ended; errors are exceptions.
enum class completion : std::uint8_t {
  done,    ///< all outputs are set
  pending, ///< they will be: whoever took the context's completion token says when
};

/// What a kernel says of itself once it is prepared. The defaults suit a small kernel without demands.
struct kernel_traits {
  struct in_place_pair {
    std::uint8_t output;
    std::uint8_t input; ///< its bytes may serve the output, if nobody else needs them and the sizes agree
  };
  std::vector<in_place_pair> in_place{};
  std::size_t scratch_bytes = 0; ///< lent for each execution, 64-byte aligned
  bool width_invariant = true;   ///< the same bits at every width
  bool batch_invariant = true;   ///< a row has the same bits in a batch of any size
  std::vector<layout> wants{};   ///< layouts of the inputs; plain where not said
  std::vector<layout> gives{};   ///< layouts of the outputs; plain where not said
};

/// What a kernel is prepared for.
struct kernel_request {
  std::string_view node;                ///< name of the node, for errors
  op_view op;                           ///< attributes, input types, constants (weights to pack)
  std::span<const value_type> outputs;  ///< as inferred
  std::span<const layout> offered = {}; ///< layouts in which the inputs can be had; plain always can
  unsigned width = 1;                   ///< threads that an execution may use
};

/// A kernel ready to run for given attributes, types, shapes and width. Immutable: one serves all frames at
/// once.
class SLUICE_API prepared_kernel {
public:
  explicit prepared_kernel(kernel_traits traits = {}) : traits_(std::move(traits)) {}
  virtual ~prepared_kernel() = default;

  /// Computes the outputs. Throws `sluice::error` with a sentence; the caller adds the node's name.
  [[nodiscard]] virtual completion execute(kernel_context& ctx) const = 0;

  [[nodiscard]] const kernel_traits& traits() const noexcept { return traits_; }
  /// Bytes of constants kept in another layout, for the memory ledger.
  [[nodiscard]] virtual std::size_t packed_bytes() const noexcept { return 0; }

private:
  const kernel_traits traits_;
};

namespace detail {
template <class F>
class function_kernel final : public prepared_kernel {
public:
  function_kernel(kernel_traits traits, F f) : prepared_kernel(std::move(traits)), f_(std::move(f)) {}
  completion execute(kernel_context& ctx) const override {
    if constexpr (std::is_void_v<std::invoke_result_t<const F&, kernel_context&>>) {
      f_(ctx);
      return completion::done;
    } else {
      return f_(ctx);
    }
  }

private:
  const F f_;
};
} // namespace detail

/// A prepared kernel from a function of the context, returning nothing (done) or a completion.
template <class F>
[[nodiscard]] std::unique_ptr<prepared_kernel> make_kernel(F f, kernel_traits traits = {}) {
  return std::make_unique<detail::function_kernel<F>>(std::move(traits), std::move(f));
}

} // namespace sluice
