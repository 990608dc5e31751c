#include <tools/model/lenient_model.hpp>

namespace sluice::tools {

namespace {

std::vector<value_type> nothing_known(const op_view& op) {
  return std::vector<value_type>(op.output_count());
}

op_schema stand_in(const unsupported_operator& missing) {
  op_schema s;
  s.name = missing.name;
  s.domain = missing.domain;
  s.since_opset = missing.opset;
  s.min_inputs = s.min_outputs = 0;
  s.max_inputs = s.max_outputs = op_schema::variadic;
  s.infer = nothing_known;
  return s;
}

/// What follows an unknown operator may be more than inference can bear: then nothing is known of it either.
infer_function tolerant(infer_function infer) {
  return [infer = std::move(infer)](const op_view& op) {
    try {
      return infer(op);
    } catch (const error&) {
      return nothing_known(op);
    }
  };
}

/// All of `known`, which cannot be added to, and the operators that it lacks.
std::shared_ptr<const op_registry> extended(const op_registry& known,
                                            const std::vector<unsupported_operator>& missing) {
  auto all = std::make_shared<op_registry>();
  for (const auto* schema : known.all()) {
    auto copy = *schema;
    copy.infer = tolerant(copy.infer);
    all->add(std::move(copy));
  }
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
