#pragma once

#include <sluice/graph/attributes.hpp>
#include <sluice/graph/value_type.hpp>

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// What one firing is expected to take.
struct op_cost {
  double flops = 0; ///< floating-point operations; a fused multiply-add counts two
  double bytes = 0; ///< read and written
};

/// A node as its operator's inference, cost and kernels see it: attributes, and what is known of its inputs.
///
/// Valid during the call only.
class SLUICE_API op_view {
public:
  /// @param types      one per input; null where the node leaves an optional input out
  /// @param constants  one per input: its value if that is known before data flows, otherwise empty
  /// @param outputs    how many the node has
  /// @param captures   how many of the inputs, the last ones, its bodies capture
  op_view(const attribute_map& attributes, int opset, std::span<const value_type* const> types,
          std::span<const value> constants, std::size_t outputs, std::size_t captures = 0) noexcept
    : attributes_(attributes), opset_(opset), types_(types), constants_(constants), outputs_(outputs),
      captures_(captures) {}

  [[nodiscard]] const attribute_map& attributes() const noexcept { return attributes_; }
  /// The version of the operator's domain that the model was written for: semantics may depend on it.
  [[nodiscard]] int opset() const noexcept { return opset_; }
  [[nodiscard]] std::size_t input_count() const noexcept { return types_.size(); }
  [[nodiscard]] std::size_t output_count() const noexcept { return outputs_; }
  [[nodiscard]] std::size_t captures() const noexcept { return captures_; }
  [[nodiscard]] bool has_input(std::size_t i) const noexcept { return i < types_.size() && types_[i]; }

  /// What is known of input `i`. Each throws errc::invalid_graph if the node leaves it out.
  [[nodiscard]] const value_type& input(std::size_t i) const {
    if (!has_input(i))
      left_out(i);
    return *types_[i];
  }
  [[nodiscard]] element_type element(std::size_t i) const { return input(i).element(); }
  [[nodiscard]] const partial_shape& shape(std::size_t i) const { return input(i).shape(); }

  /// The value of input `i` if it is known before data flows (a weight, a folded shape); empty otherwise.
  [[nodiscard]] const value& constant(std::size_t i) const noexcept;
  /// The elements of a constant integer tensor, such as axes or a target shape; nullopt if they are not
  /// known.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> constant_integers(std::size_t i) const;

private:
  [[noreturn]] static void left_out(std::size_t i);

  const attribute_map& attributes_;
  const int opset_;
  const std::span<const value_type* const> types_;
  const std::span<const value> constants_;
  const std::size_t outputs_;
  const std::size_t captures_;
};

/// What an operator says about its outputs from its inputs. Inference that meets something impossible throws
/// `sluice::error` with a sentence; the caller adds the node's name.
using infer_function = std::function<std::vector<value_type>(const op_view&)>;

/// The cost of one firing; asked only where all inputs are concrete tensors. `outputs` are as inferred.
using cost_function = std::function<op_cost(const op_view&, std::span<const value_type> outputs)>;

/// An operator: its name, what it takes and gives, and what can be said of it without running it.
struct op_schema {
  static constexpr std::size_t variadic = std::numeric_limits<std::size_t>::max();

  /// An output that may be its input, or look into it.
  struct alias {
    std::size_t output;
    std::size_t input;
    bool in_part = false; ///< it may be a part of it; otherwise all of it, if at all
  };

  std::string name;
  int since_opset = 1; ///< holds from this version of its domain on, until the next schema of that name
  std::size_t min_inputs = 1;
  std::size_t max_inputs = 1;
  std::size_t min_outputs = 1;
  std::size_t max_outputs = 1;
  infer_function infer;
  cost_function cost{};              ///< by default one operation an output element
  std::vector<alias> aliases{};      ///< outputs that may share bytes with inputs
  std::vector<std::string> bodies{}; ///< attributes that hold subgraphs
  bool shape_only = false;           ///< reads the shapes of its inputs, never their elements (Shape, Size)
  bool pure = true;                  ///< the same inputs give the same outputs: may be folded and shared
  std::string domain{};              ///< "" is ONNX's own
};

/// The operators that graphs may use, by domain, name and opset.
///
/// Filled once, then only read. @threadsafe to read.
class SLUICE_API op_registry {
public:
  /// Throws errc::invalid_argument if the same name and opset are there already.
  void add(op_schema schema);

  /// The schema of `name` that holds at `opset`; null if there is none.
  [[nodiscard]] const op_schema* find(std::string_view domain, std::string_view name, int opset) const;

  /// True if any version is there, to tell an unknown operator from an unsupported version.
  [[nodiscard]] bool knows(std::string_view domain, std::string_view name) const;

  /// All schemas, ordered by domain, name and version.
  [[nodiscard]] std::vector<const op_schema*> all() const;

private:
  // The newest last. Schemas are referred to by graphs, so they stay where they are.
  using versions = std::map<int, std::unique_ptr<const op_schema>>;
  std::map<std::pair<std::string, std::string>, versions, std::less<>> schemas_;
};

} // namespace sluice
