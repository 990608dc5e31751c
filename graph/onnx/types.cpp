#include <sluice/graph/onnx/values.hpp>

namespace sluice::proto {

namespace {

partial_shape shape_from(const onnx::TensorShapeProto& s, const std::string& owner) {
  if (static_cast<std::size_t>(s.dim_size()) > shape::max_rank)
    throw error{errc::unsupported, owner + " has rank " + std::to_string(s.dim_size()) + "; at most " +
                                       std::to_string(shape::max_rank) + " is supported"};
  std::vector<dim> dims;
  for (const auto& d : s.dim()) {
    if (d.has_dim_param() && !d.dim_param().empty())
      dims.emplace_back(d.dim_param());
    else if (!d.has_dim_value() ||
             d.dim_value() == -1) // some exporters write -1 for an extent they do not know
      dims.emplace_back();
    else if (d.dim_value() >= 0)
      dims.emplace_back(d.dim_value());
    else
      throw error{errc::invalid_model, owner + " has the extent " + std::to_string(d.dim_value())};
  }
  partial_shape result{std::move(dims)};
  try {
    (void)result.to_shape(); // refuses one with too many elements
  } catch (const error& e) {
    throw error{errc::invalid_model, owner + ": " + e.what()};
  }
  return result;
}

} // namespace

value_type type_from(const onnx::TypeProto& t, const std::string& owner) {
  switch (t.value_case()) {
  case onnx::TypeProto::kTensorType: {
    const auto number = t.tensor_type().elem_type();
    const auto element = number == 0 ? element_type::undefined : element_type_from(number, owner);
    return {element,
            t.tensor_type().has_shape() ? shape_from(t.tensor_type().shape(), owner) : partial_shape{}};
  }
  case onnx::TypeProto::kSequenceType:
    return value_type::sequence_of(type_from(t.sequence_type().elem_type(), owner));
  case onnx::TypeProto::kOptionalType:
    return value_type::optional_of(type_from(t.optional_type().elem_type(), owner));
  case onnx::TypeProto::kMapType:
    return value_type::map_of(element_type_from(t.map_type().key_type(), owner),
                              type_from(t.map_type().value_type(), owner));
  case onnx::TypeProto::kSparseTensorType:
    throw error{errc::unsupported, owner + " is a sparse tensor, which cannot flow through a graph"};
  case onnx::TypeProto::kOpaqueType:
    throw error{errc::unsupported, owner + " has the opaque type '" + t.opaque_type().name() + '\''};
  case onnx::TypeProto::VALUE_NOT_SET:
    return {};
  }
  return {};
}

onnx::TypeProto type_to(const value_type& t) {
  onnx::TypeProto result;
  if (!t.known())
    return result;
  switch (*t.kind()) {
  case value_kind::tensor: {
    auto& tensor = *result.mutable_tensor_type();
    tensor.set_elem_type(static_cast<int>(t.element()));
    if (t.shape().has_rank()) {
      tensor.mutable_shape();
      for (const auto& d : t.shape().dims()) {
        auto& written = *tensor.mutable_shape()->add_dim();
        if (d.known())
          written.set_dim_value(d.extent());
        else if (!d.symbol().empty())
          written.set_dim_param(d.symbol());
      }
    }
    break;
  }
  case value_kind::sequence:
    *result.mutable_sequence_type()->mutable_elem_type() = type_to(t.inner());
    break;
  case value_kind::optional:
    *result.mutable_optional_type()->mutable_elem_type() = type_to(t.inner());
    break;
  case value_kind::map:
    result.mutable_map_type()->set_key_type(static_cast<int>(t.key()));
    *result.mutable_map_type()->mutable_value_type() = type_to(t.inner());
    break;
  case value_kind::object:
    break;
  }
  return result;
}

} // namespace sluice::proto
