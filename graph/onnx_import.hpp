#pragma once

#include <sluice/graph/error.hpp>
#include <sluice/graph/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// What a model may be and how it is read. The limits keep a hostile file from taking memory, time or stack.
struct onnx_options {
  std::size_t max_file_bytes = std::size_t{1}
                               << 31; ///< of the model file itself; external data may be larger
  std::size_t max_parts = 4'000'000;  ///< messages and strings in the file
  std::size_t max_nodes = 1'000'000;  ///< bodies included, after functions are inlined
  std::size_t max_nesting = 16;       ///< bodies within bodies
  std::size_t max_calls = 48;         ///< functions within functions
  std::size_t max_sparse_bytes = std::size_t{1} << 28; ///< of one sparse weight when made dense
  /// Shapes of inputs, in place of those that the model declares.
  std::map<std::string, partial_shape> input_shapes{};
};

/// What a model file says about itself.
struct model_info {
  std::int64_t ir_version = 0;
  std::int64_t model_version = 0;
  std::string producer{};
  std::string producer_version{};
  std::string domain{};
  std::string description{};
  std::map<std::string, int> opsets{}; ///< by domain; "" is ONNX's own
  std::map<std::string, std::string> metadata{};
  /// What was amended on the way: a declared shape that cannot be right, a node name that was taken.
  std::vector<std::string> notes{};
};

struct onnx_model {
  std::shared_ptr<const sluice::graph> graph;
  model_info info;
};

/// An operator that a model needs and the registry does not have.
struct unsupported_operator {
  std::string name;
  std::string domain; ///< "" is ONNX's own
  int opset = 0;
  std::size_t count = 0;  ///< nodes that use it, in bodies and functions too
  std::string first_node; ///< name of the first of them
  std::string reason;     ///< "unknown operator", "not known for this opset", …
};

/// errc::unsupported with the list of all operators that stand in the way.
class SLUICE_API unsupported_operators : public error {
public:
  unsupported_operators(const std::string& model, std::vector<unsupported_operator> operators);
  ~unsupported_operators() override;

  [[nodiscard]] const std::vector<unsupported_operator>& operators() const noexcept { return operators_; }

private:
  std::vector<unsupported_operator> operators_;
};

/// Reads an ONNX model and builds its graph: edges keep the names of ONNX's tensors; initializers and
/// Constant nodes are constants; functions, and operators that `operators` lacks but ONNX defines by others,
/// are inlined; what a body takes from outside becomes an input of its owner, unless it is a constant.
///
/// Large weights are shared with the file's content, not copied; external data is mapped.
/// Throws errc::invalid_model, errc::io_failed or errc::unsupported (unsupported_operators, if that is why),
/// naming the file and the node or tensor. @threadsafe
[[nodiscard]] SLUICE_API onnx_model load_onnx_model(const std::filesystem::path& file,
                                                    std::shared_ptr<const op_registry> operators,
                                                    const onnx_options& options = {});

/// The same from the content of a file. External data is looked for in `folder`, and refused without one.
/// `bytes` are needed during the call only.
[[nodiscard]] SLUICE_API onnx_model load_onnx_model(std::span<const std::byte> bytes,
                                                    std::shared_ptr<const op_registry> operators,
                                                    const onnx_options& options = {},
                                                    const std::filesystem::path& folder = {});

/// The graph alone.
[[nodiscard]] SLUICE_API std::shared_ptr<const graph> load_onnx(const std::filesystem::path& file,
                                                                std::shared_ptr<const op_registry> operators,
                                                                const onnx_options& options = {});
[[nodiscard]] SLUICE_API std::shared_ptr<const graph> load_onnx(std::span<const std::byte> bytes,
                                                                std::shared_ptr<const op_registry> operators,
                                                                const onnx_options& options = {},
                                                                const std::filesystem::path& folder = {});

/// The operators that `file` needs and `operators` lacks; empty if it can be loaded as far as those go.
[[nodiscard]] SLUICE_API std::vector<unsupported_operator> find_unsupported(const std::filesystem::path& file,
                                                                            const op_registry& operators,
                                                                            const onnx_options& options = {});

} // namespace sluice
