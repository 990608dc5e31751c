#pragma once

#include <sluice/devices/executor.hpp>
#include <sluice/devices/kernel.hpp>
#include <sluice/graph/tensor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sluice {

/// Says, once, how a pending execution ended. @threadsafe: may be called on any thread.
class SLUICE_API completion_token {
public:
  virtual ~completion_token() = default;
  virtual void succeed(std::span<value> outputs) = 0;
  virtual void fail(std::exception_ptr why) = 0;
};

/// What a kernel works with while it executes: inputs, outputs, scratch, threads. Lives on the runtime's
/// stack; for the executing thread only.
class SLUICE_API kernel_context {
public:
  /// Bytes that the runtime keeps for an output: a tensor's header and its elements.
  struct output_place {
    void* header = nullptr;
    void* elements = nullptr;
    std::size_t bytes = 0; ///< of the elements; 0: there is no place
  };
  /// What the runtime provides to one execution. All spans outlive it.
  struct resources {
    std::span<value> inputs;  ///< empty where left out
    std::span<value> outputs; ///< empty, or, on a device, tensors to write to; filled by the execution
    std::span<const value_type> output_types;
    std::span<const kernel_traits::in_place_pair> in_place{};
    /// By output; empty: none has a place. A tensor that fits takes it, even if that is the place of an input
    /// that the kernel permits to work on.
    std::span<const output_place> places{};
    memory& allocate_from;
    std::byte* scratch = nullptr;
    worker* thread = nullptr; ///< null: no parallelism
    unsigned width = 1;
    std::uint64_t random_seed = 0; ///< differs by session seed and frame
  };
  explicit kernel_context(const resources& r) noexcept : r_(r) {}
  kernel_context(const kernel_context&) = delete;
  kernel_context& operator=(const kernel_context&) = delete;
  virtual ~kernel_context() = default;

  [[nodiscard]] std::size_t input_count() const noexcept { return r_.inputs.size(); }
  [[nodiscard]] std::size_t output_count() const noexcept { return r_.outputs.size(); }
  [[nodiscard]] bool has_input(std::size_t i) const noexcept {
    return i < r_.inputs.size() && !r_.inputs[i].empty();
  }
  [[nodiscard]] const tensor& input(std::size_t i) const { return r_.inputs[i].tensor(); }
  [[nodiscard]] const value& input_value(std::size_t i) const noexcept { return r_.inputs[i]; }
  /// Moves input `i` out, to pass it on.
  [[nodiscard]] value take_input(std::size_t i) noexcept { return std::move(r_.inputs[i]); }

  /// The tensor to write output `i` to, of the inferred element type; uninitialised, or, where the kernel's
  /// traits permit it, standing in the bytes of an input. Call once per output.
  tensor& output(std::size_t i, const shape& s) { return output(i, r_.output_types[i].element(), s); }
  tensor& output(std::size_t i, element_type type, const shape& s);
  /// The same in a layout other than plain.
  tensor& output_laid_out(std::size_t i, element_type type, const shape& s, layout l, std::size_t bytes);
  void set_output(std::size_t i, value v) noexcept { r_.outputs[i] = std::move(v); }

  [[nodiscard]] std::byte* scratch() const noexcept { return r_.scratch; }
  [[nodiscard]] memory& allocator() const noexcept { return r_.allocate_from; }
  [[nodiscard]] worker* thread() const noexcept { return r_.thread; }
  [[nodiscard]] unsigned width() const noexcept { return r_.width; }
  /// Where random operators without a seed of their own start, mixed with their node's name.
  [[nodiscard]] std::uint64_t random_seed() const noexcept { return r_.random_seed; }

  /// Calls `body(begin, end)` for chunks of [0, n) of `grain` items, on up to width() threads. Chunks depend
  /// on `n` and `grain` only.
  template <class Body>
  void parallel_for(std::size_t n, std::size_t grain, Body&& body) const {
    if (r_.thread && r_.width > 1 && n > grain)
      r_.thread->parallel_for(n, grain, r_.width, body);
    else
      for (std::size_t begin = 0; begin < n; begin += grain)
        body(begin, std::min(n, begin + grain));
  }

  /// For an execution that returns completion::pending: the token to complete it with, later or from
  /// elsewhere. Throws errc::unsupported where the runtime cannot wait (constant folding).
  [[nodiscard]] virtual std::shared_ptr<completion_token> suspend();

protected:
  resources r_;

private:
  [[nodiscard]] bool has_place(std::size_t i, std::size_t bytes) const noexcept {
    return i < r_.places.size() && bytes > 0 && bytes <= r_.places[i].bytes;
  }
  tensor& place_output(std::size_t i, element_type type, const shape& s, layout l, std::size_t bytes);
  [[nodiscard]] tensor& preset(std::size_t i, element_type type, const shape& s);
};

} // namespace sluice
