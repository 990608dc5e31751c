#include <sluice/graph/onnx/importer.hpp>

#include <sluice/graph/collections.hpp>
#include <sluice/graph/tensor.hpp>

#include <algorithm>

namespace sluice::proto {

namespace {

/// The type of an attribute; the first models did not write it.
onnx::AttributeProto::AttributeType type_of(const onnx::AttributeProto& a) {
  using proto = onnx::AttributeProto;
  if (a.has_type())
    return a.type();
  return a.has_f()               ? proto::FLOAT
         : a.has_i()             ? proto::INT
         : a.has_s()             ? proto::STRING
         : a.has_t()             ? proto::TENSOR
         : a.has_g()             ? proto::GRAPH
         : a.floats_size() > 0   ? proto::FLOATS
         : a.ints_size() > 0     ? proto::INTS
         : a.strings_size() > 0  ? proto::STRINGS
         : a.tensors_size() > 0  ? proto::TENSORS
         : a.has_sparse_tensor() ? proto::SPARSE_TENSOR
         : a.has_tp()            ? proto::TYPE_PROTO
                                 : proto::UNDEFINED;
}

template <class Field>
value vector_of(const Field& field) {
  using element = std::remove_cvref_t<decltype(field.Get(0))>;
  auto t = tensor::make(element_type_of<element>, {static_cast<std::int64_t>(field.size())});
  std::copy(field.begin(), field.end(), t->template data<element>().begin());
  return t;
}

std::size_t payload(const onnx::AttributeProto& a) {
  std::size_t n = a.s().size() +
                  8 * (static_cast<std::size_t>(a.ints_size()) + static_cast<std::size_t>(a.floats_size()));
  for (const auto& text : a.strings())
    n += 32 + text.size();
  return n / 8;
}

} // namespace

value importer::weight(onnx::TensorProto& t) {
  auto& known = weights_[&t];
  if (known.empty())
    known = tensor_from(t, files_);
  return known;
}

value importer::weight(onnx::SparseTensorProto& t) {
  auto& known = weights_[&t];
  if (known.empty())
    known = tensor_from(t, files_, options_.max_sparse_bytes);
  return known;
}

importer::attribute_list importer::attributes_of(onnx::NodeProto& n, const scope& s) const {
  attribute_list result;
  std::set<std::string> names;
  for (auto& a : *n.mutable_attribute()) {
    if (a.name().empty() || !names.insert(a.name()).second)
      malformed("node " + title(n) +
                (a.name().empty() ? " has an attribute without a name"
                                  : " has two attributes '" + a.name() + '\''));
    if (a.ref_attr_name().empty()) {
      result.emplace_back(a.name(), &a);
    } else if (const auto given = s.arguments.find(a.ref_attr_name()); given != s.arguments.end()) {
      if (given->second->has_g())
        unsupported("node " + title(n) + ": a body that is passed to a function");
      result.emplace_back(a.name(), given->second);
    }
  }
  return result;
}

attribute importer::attribute_from(onnx::AttributeProto& a) {
  using proto = onnx::AttributeProto;
  spend(1 + payload(a));
  switch (type_of(a)) {
  case proto::FLOAT:
    return a.f();
  case proto::INT:
    return std::int64_t{a.i()};
  case proto::STRING:
    return a.s();
  case proto::TENSOR:
    return weight(*a.mutable_t());
  case proto::SPARSE_TENSOR:
    return weight(*a.mutable_sparse_tensor());
  case proto::FLOATS:
    return std::vector<float>{a.floats().begin(), a.floats().end()};
  case proto::INTS:
    return std::vector<std::int64_t>{a.ints().begin(), a.ints().end()};
  case proto::STRINGS:
    return std::vector<std::string>{a.strings().begin(), a.strings().end()};
  case proto::TENSORS: {
    std::vector<value> items;
    for (auto& t : *a.mutable_tensors())
      items.push_back(weight(t));
    return sequence::make(std::move(items));
  }
  case proto::TYPE_PROTO:
    return type_from(a.tp(), "its type");
  case proto::GRAPHS:
  case proto::SPARSE_TENSORS:
  case proto::TYPE_PROTOS:
    unsupported("lists of graphs, sparse tensors and types are not supported");
  case proto::GRAPH:
  case proto::UNDEFINED:
    break;
  }
  malformed("it has no type that ONNX knows");
}

void importer::constant(const onnx::NodeProto& n, const attribute_list& attributes, scope& s) {
  using proto = onnx::AttributeProto;
  if (n.output_size() != 1 || n.output(0).empty() || attributes.size() != 1)
    malformed("node " + title(n) + " needs one output and one value");
  auto& a = *attributes.front().second;
  value v;
  try {
    switch (type_of(a)) {
    case proto::TENSOR:
      v = weight(*a.mutable_t());
      break;
    case proto::SPARSE_TENSOR:
      v = weight(*a.mutable_sparse_tensor());
      break;
    case proto::FLOAT:
      v = tensor::of_scalar(a.f());
      break;
    case proto::INT:
      v = tensor::of_scalar(std::int64_t{a.i()});
      break;
    case proto::STRING:
      v = tensor::of_scalar(a.s());
      break;
    case proto::FLOATS:
      v = vector_of(a.floats());
      break;
    case proto::INTS:
      v = vector_of(a.ints());
      break;
    case proto::STRINGS:
      v = vector_of(a.strings());
      break;
    default:
      malformed("attribute '" + a.name() + "' is no value");
    }
  } catch (const error& e) {
    throw error{e.code(), "node " + title(n) + ": " + e.what()};
  }
  spend(payload(a));
  define(n.output(0), s.in.builder.constant(edge_name(n.output(0), s), std::move(v)), s);
}

} // namespace sluice::proto
