#pragma once

#include <sluice/scheduler/plan.hpp>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace sluice {

/// What a firing needs whose types and shapes its plan did not know.
struct late_kernel {
  std::shared_ptr<const prepared_kernel> kernel;
  std::vector<value_type> outputs; ///< as inferred from the inputs
};

/// The kernels that one node prepared when it fired, by the types and shapes that arrived; the few used last
/// are kept. Output types that depend on more than these, on the elements of an input, are inferred at each
/// firing.
///
/// @threadsafe; nothing is locked while a kernel is prepared.
class SLUICE_API late_kernels {
public:
  /// How many combinations of inputs a node remembers.
  static constexpr std::size_t capacity = 8;

  /// The kernel of `n` for `inputs`, which have all arrived.
  /// @param constants  those of the inputs that never change in the plan at hand, ordered by port
  /// Throws what inference and preparing throw, and errc::unsupported if no kernel can be prepared.
  [[nodiscard]] std::shared_ptr<const late_kernel> get(const graph::node& n, std::span<const value> inputs,
                                                       std::span<const plan_step::bound_constant> constants,
                                                       kernel_cache& kernels, unsigned width);

  /// How many combinations are remembered now.
  [[nodiscard]] std::size_t size() const;

private:
  struct input {
    element_type type; ///< undefined: left out
    sluice::shape shape;
  };
  struct entry {
    std::vector<input> inputs;
    std::vector<plan_step::bound_constant> constants; // kept, so that nothing else gets their addresses
    unsigned width;
    bool by_value; ///< the outputs' types depend on elements
    std::shared_ptr<const late_kernel> made;

    [[nodiscard]] bool suits(std::span<const value> given, std::span<const plan_step::bound_constant> known,
                             unsigned w) const noexcept;
  };

  [[nodiscard]] const entry* find(std::span<const value> inputs,
                                  std::span<const plan_step::bound_constant> constants, unsigned width);
  void remember(entry e);

  mutable std::mutex mutex_;
  std::vector<entry> entries_; // guarded by mutex_; the one used last comes first
};

} // namespace sluice
