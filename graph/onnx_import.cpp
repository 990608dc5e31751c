#include <sluice/graph/onnx_import.hpp>

#include <sluice/graph/mapped_file.hpp>
#include <sluice/graph/onnx/importer.hpp>
#include <sluice/graph/onnx/wire.hpp>

#include <new>

namespace sluice {

namespace {

std::string sentence(const std::string& model, const std::vector<unsupported_operator>& operators) {
  auto text = model + " needs " + std::to_string(operators.size()) +
              (operators.size() == 1 ? " operator" : " operators") + " that Sluice does not have: ";
  for (const auto& o : operators) {
    if (&o != &operators.front())
      text += ", ";
    text += (o.domain.empty() ? "" : o.domain + "::") + o.name + " (opset " + std::to_string(o.opset) + ", " +
            std::to_string(o.count) + (o.count == 1 ? " node" : " nodes") + ", first '" + o.first_node +
            "', " + o.reason + ')';
  }
  return text;
}

/// Calls `f`; what goes wrong becomes an error that names the file and tells the model's faults from others.
template <class F>
auto for_model(const std::string& name, F&& f) try {
  return f();
} catch (const unsupported_operators& e) {
  throw unsupported_operators{name, e.operators()};
} catch (const error& e) {
  const auto in_model = e.code() == errc::invalid_graph;
  throw error{in_model ? errc::invalid_model : e.code(), name + ": " + e.what()};
} catch (const std::bad_alloc&) {
  throw error{errc::out_of_memory, name + ": there is not enough memory to load it"};
} catch (const std::exception& e) {
  throw error{errc::invalid_model, name + ": " + e.what()};
}

onnx::ModelProto parsed(std::span<const std::byte> bytes, const onnx_options& options) {
  onnx::ModelProto model;
  proto::parse(bytes, model, {options.max_file_bytes, options.max_parts});
  if (!model.has_graph())
    throw error{errc::invalid_model, "not an ONNX model: it has no graph"};
  return model;
}

onnx_model import(const std::string& name, std::span<const std::byte> bytes,
                  std::shared_ptr<const op_registry> operators, const onnx_options& options,
                  const std::filesystem::path& folder) {
  return for_model(name, [&] {
    auto model = parsed(bytes, options);
    if (auto missing = proto::survey(model, *operators, options); !missing.empty())
      throw unsupported_operators{name, std::move(missing)};
    return proto::importer{model, std::move(operators), options, proto::external_files{folder}}.run();
  });
}

} // namespace

unsupported_operators::unsupported_operators(const std::string& model,
                                             std::vector<unsupported_operator> operators)
  : error(errc::unsupported, sentence(model, operators)), operators_(std::move(operators)) {}

unsupported_operators::~unsupported_operators() = default;

onnx_model load_onnx_model(const std::filesystem::path& file, std::shared_ptr<const op_registry> operators,
                           const onnx_options& options) {
  const auto content = mapped_file::open(file);
  // The folder of "model.onnx" is the current one, not none.
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path{"."};
  return import(file.string(), content->bytes(), std::move(operators), options, folder);
}

onnx_model load_onnx_model(std::span<const std::byte> bytes, std::shared_ptr<const op_registry> operators,
                           const onnx_options& options, const std::filesystem::path& folder) {
  return import("the model", bytes, std::move(operators), options, folder);
}

std::shared_ptr<const graph> load_onnx(const std::filesystem::path& file,
                                       std::shared_ptr<const op_registry> operators,
                                       const onnx_options& options) {
  return load_onnx_model(file, std::move(operators), options).graph;
}

std::shared_ptr<const graph> load_onnx(std::span<const std::byte> bytes,
                                       std::shared_ptr<const op_registry> operators,
                                       const onnx_options& options, const std::filesystem::path& folder) {
  return load_onnx_model(bytes, std::move(operators), options, folder).graph;
}

std::vector<unsupported_operator> find_unsupported(const std::filesystem::path& file,
                                                   const op_registry& operators,
                                                   const onnx_options& options) {
  const auto content = mapped_file::open(file);
  return for_model(file.string(), [&] {
    auto model = parsed(content->bytes(), options);
    return proto::survey(model, operators, options);
  });
}

} // namespace sluice
