#include <sluice/graph/onnx/importer.hpp>

#include <tuple>

namespace sluice::proto {

namespace {

/// Walks all nodes of a model, bodies and functions included, each function once.
class surveyor {
public:
  surveyor(onnx::ModelProto& model, const op_registry& operators, const onnx_options& options)
    : opsets_(opsets_of(model)), catalog_(operators, model, opsets_), options_(options) {
    visit(*model.mutable_graph()->mutable_node(), opsets_, 0);
  }

  std::vector<unsupported_operator> result() && { return std::move(found_); }

private:
  static opset_versions opsets_of(const onnx::ModelProto& model) {
    auto opsets = opsets_from(model.opset_import(), "the model");
    opsets.try_emplace("", 1);
    return opsets;
  }

  void visit(node_list& nodes, const opset_versions& opsets, std::size_t depth) {
    if (depth > options_.max_nesting + options_.max_calls)
      throw error{errc::unsupported,
                  "bodies and functions are nested deeper than " + std::to_string(depth - 1)};
    for (auto& n : nodes) {
      visit(n, opsets, depth);
      for (auto* a : bodies_of(n))
        visit(*a->mutable_g()->mutable_node(), opsets, depth + 1);
    }
  }

  void visit(const onnx::NodeProto& n, const opset_versions& opsets, std::size_t depth) {
    const auto version = opsets.find(domain_of(n.domain()));
    if (version == opsets.end())
      return add(n, 0, "its domain is not imported");
    const auto found = catalog_.resolve(n, version->second);
    if (found.what == resolution::kind::missing)
      add(n, version->second, found.reason);
    else if (found.body && seen_.insert(found.body->nodes).second)
      visit(*found.body->nodes->mutable_node(), found.body->opsets, depth + 1);
  }

  void add(const onnx::NodeProto& n, int opset, const std::string& reason) {
    const auto domain = domain_of(n.domain());
    const auto [entry, fresh] = places_.try_emplace({domain, n.op_type(), opset}, found_.size());
    if (fresh)
      found_.push_back({n.op_type(), domain, opset, 0,
                        n.name().empty() && n.output_size() > 0 ? n.output(0) : n.name(), reason});
    ++found_[entry->second].count;
  }

  const opset_versions opsets_;
  catalog catalog_;
  const onnx_options& options_;
  std::set<const onnx::FunctionProto*> seen_;
  std::map<std::tuple<std::string, std::string, int>, std::size_t> places_;
  std::vector<unsupported_operator> found_;
};

} // namespace

std::vector<unsupported_operator> survey(onnx::ModelProto& model, const op_registry& operators,
                                         const onnx_options& options) {
  return surveyor{model, operators, options}.result();
}

} // namespace sluice::proto
