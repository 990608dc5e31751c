#pragma once

#include <sluice/graph/onnx_import.hpp>

#include <tools/conformance/onnx_case.hpp>
#include <tools/feeds/feeds.hpp>
#include <tools/planning/devices.hpp>

#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::tools {

/// How models are executed, as all commands let people say.
struct execution_options {
  unsigned intra_op_threads = 0; ///< that may join one firing; 0: the system picks
  unsigned inter_op_threads = 0; ///< how many firings run at once; 0: the system picks
  std::string trace{};           ///< a file for a Chrome trace; empty: none
  device_options devices{};
  std::string placement{};    ///< a file of rules; empty: none
  bool strict = false;        ///< refuse what cannot be placed as asked
  bool log_placement = false; ///< say where each node ran
};

/// A model that is loaded and ready to run.
class loaded_model {
public:
  /// Throws `error`, naming the file.
  loaded_model(const std::filesystem::path& file, const execution_options& options);
  ~loaded_model();

  [[nodiscard]] const sluice::graph& graph() const noexcept { return *model_.graph; }
  [[nodiscard]] const model_info& info() const noexcept { return model_.info; }
  /// The parallelism in force.
  [[nodiscard]] unsigned intra_op_threads() const;
  [[nodiscard]] unsigned inter_op_threads() const;

  /// Runs the model once. `fetch` names values of the graph; empty: its outputs. @threadsafe
  [[nodiscard]] named_values run(const named_values& feeds, std::span<const std::string> fetch = {});

  /// Starts a run and calls `done` when it has ended, with what went wrong or null; on a worker, or here if
  /// it cannot start. @threadsafe
  void start(const named_values& feeds, std::function<void(std::exception_ptr)> done);

  /// Writes the trace and says where nodes ran, if that was asked for. Throws errc::io_failed.
  void report() const;

private:
  struct engine_part;
  const execution_options options_;
  onnx_model model_;
  std::unique_ptr<engine_part> engine_;
};

/// Executes any number of graphs, which share its threads. @threadsafe
class graph_executor {
public:
  explicit graph_executor(const execution_options& options);
  ~graph_executor();

  [[nodiscard]] graph_runner open(std::shared_ptr<const graph> g) const;

private:
  struct engine_part;
  std::unique_ptr<engine_part> engine_;
};

/// The operators that models may use.
[[nodiscard]] std::shared_ptr<const op_registry> known_operators();

} // namespace sluice::tools
