#include <tools/execution.hpp>

#include <tools/exit_code.hpp>

#include <sluice/ops/operators.hpp>
#include <sluice/scheduler/evaluate.hpp>

namespace sluice::tools {

struct loaded_model::engine_part {};
struct graph_executor::engine_part {};

loaded_model::loaded_model(const std::filesystem::path& file, const execution_options&)
  : model_(read_model(file)), engine_(std::make_unique<engine_part>()) {}

loaded_model::~loaded_model() = default;

named_values loaded_model::run(const named_values& feeds, std::span<const std::string>) {
  std::vector<value> inputs;
  for (const auto e : model_.graph->inputs())
    inputs.push_back(feeds.at(model_.graph->at_edge(e).name));
  const auto outputs = evaluate(*standard_operators(), *model_.graph, inputs);
  named_values results;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    results.emplace(model_.graph->output_names()[i], outputs[i]);
  return results;
}

graph_executor::graph_executor(const execution_options&) : engine_(std::make_unique<engine_part>()) {}

graph_executor::~graph_executor() = default;

graph_runner graph_executor::open(std::shared_ptr<const graph> g) const {
  return [g = std::move(g)](std::span<const value> inputs) {
    return evaluate(*standard_operators(), *g, inputs);
  };
}

std::shared_ptr<const op_registry> known_operators() {
  return standard_operators()->schemas();
}

onnx_model read_model(const std::filesystem::path& file) {
  return load_onnx_model(file, known_operators());
}

} // namespace sluice::tools
