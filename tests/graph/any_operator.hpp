#pragma once

#include <sluice/graph/op_schema.hpp>

#include <memory>
#include <onnx/defs/schema.h>
#include <set>
#include <utility>

namespace sluice::test {

/// A registry that takes every operator that ONNX defines by itself, and says nothing of its outputs' types.
inline std::shared_ptr<op_registry> any_operator() {
  auto result = std::make_shared<op_registry>();
  std::set<std::pair<std::string, std::string>> known;
  for (const auto& s : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    // ONNX's definition of this loss asks for types, which this registry does not infer.
    const auto defined_by_others =
        (s.HasFunction() || s.HasContextDependentFunction()) && s.Name() != "NegativeLogLikelihoodLoss";
    if (defined_by_others || !known.emplace(s.domain(), s.Name()).second)
      continue;
    op_schema schema;
    schema.name = s.Name();
    schema.domain = s.domain();
    schema.min_inputs = 0;
    schema.max_inputs = op_schema::variadic;
    schema.max_outputs = op_schema::variadic;
    schema.infer = [](const op_view& v) { return std::vector<value_type>(v.output_count()); };
    result->add(std::move(schema));
  }
  return result;
}

} // namespace sluice::test
