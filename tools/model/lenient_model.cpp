#include <tools/model/lenient_model.hpp>

namespace sluice::tools {

namespace {

op_schema stand_in(const unsupported_operator& missing) {
  op_schema s;
  s.name = missing.name;
  s.domain = missing.domain;
  s.since_opset = missing.opset;
  s.min_inputs = s.min_outputs = 0;
  s.max_inputs = s.max_outputs = op_schema::variadic;
  s.infer = [](const op_view& op) { return std::vector<value_type>(op.output_count()); };
  return s;
}

/// All of `known`, which cannot be added to, and the operators that it lacks.
std::shared_ptr<const op_registry> extended(const op_registry& known,
                                            const std::vector<unsupported_operator>& missing) {
  auto all = std::make_shared<op_registry>();
  for (const auto* schema : known.all())
    all->add(*schema);
  for (const auto& m : missing)
    all->add(stand_in(m));
  return all;
}

} // namespace

lenient_model read_leniently(const std::filesystem::path& file,
                             const std::shared_ptr<const op_registry>& known) {
  try {
    return {load_onnx_model(file, known), {}};
  } catch (const unsupported_operators& e) {
    return {load_onnx_model(file, extended(*known, e.operators())), e.operators()};
  }
}

} // namespace sluice::tools
