// Changes models as messages, so that most of what the fuzzer tries is read as a model at all.
#include <google/protobuf/message.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx-data_pb.h>

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using random_source = std::minstd_rand;

constexpr std::array<const char*, 4> seeds = {
    R"(<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
       g (float[N, 3] x, bool c) => (float[N, 3] y) {
         k = Constant <value = float[3] {1, 2, 3}> ()
         a = f.outer <slope = 0.5> (x, k)
         y = If (c) <then_branch = t () => (float[1] p) { p = Add(a, k) },
                     else_branch = e () => (float[1] q) { a = Neg(x) q = Add(a, x) }>
       }
       <domain: "f", opset_import: ["" : 17, "f" : 1]> outer <slope> (v, w) => (r) { s = f.inner(v) r = Add(s, w) }
       <domain: "f", opset_import: ["" : 16]> inner (v) => (r) { r = LeakyRelu <alpha : float = @slope> (v) })",
    R"(<ir_version: 7, opset_import: ["" : 13]>
       g (int64 m, bool c, float[2] x, float[2] w = {3, 4}) => (float[2] y) {
         y, z = Loop (m, c, x) <body = b (int64 i, bool go, float[2] s) => (bool go, float[2] next, float[2] each)
                                { next = Add(s, w) each = Celu <alpha = 2.0> (next) }>
       })",
    R"(<ir_version: 8, opset_import: ["" : 17]>
       g (float[2] x) => (float[2] y) { y = SequenceMap (x) <body = b (float i) => (float o) { o = Mul(i, x) }> })",
    R"(<ir_version: 8, opset_import: ["" : 12]>
       g (float[2, 3] x, int64[2] t, float[3] w) => (float y) {
         y = SoftmaxCrossEntropyLoss <reduction = "mean"> (x, t, w) })",
};

std::size_t below(random_source& random, std::size_t n) {
  return n == 0 ? 0 : random() % n;
}

/// All messages within `m`, itself too.
void collect(Message& m, std::vector<Message*>& all) {
  all.push_back(&m);
  std::vector<const FieldDescriptor*> fields;
  const auto& reflection = *m.GetReflection();
  reflection.ListFields(m, &fields);
  for (const auto* f : fields) {
    if (f->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      continue;
    if (!f->is_repeated())
      collect(*reflection.MutableMessage(&m, f), all);
    for (int i = 0; f->is_repeated() && i < reflection.FieldSize(m, f); ++i)
      collect(*reflection.MutableRepeatedMessage(&m, f, i), all);
  }
}

std::int64_t number(random_source& random) {
  constexpr std::array<std::int64_t, 12> interesting = {
      0, 1, -1, 2, 7, 16, 17, 255, 1 << 20, std::int64_t{1} << 40, INT64_MAX, INT64_MIN};
  return interesting[below(random, interesting.size())];
}

/// A name from somewhere in the model, or a mutated one.
std::string text(random_source& random, const std::vector<Message*>& all, std::string old) {
  if (below(random, 3) == 0) {
    old.resize(old.size() + 8);
    old.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(old.data()), old.size() - 8, old.size()));
    return old;
  }
  std::vector<const FieldDescriptor*> fields;
  for (int attempt = 0; attempt < 8; ++attempt) {
    const auto& m = *all[below(random, all.size())];
    m.GetReflection()->ListFields(m, &fields);
    for (const auto* f : fields)
      if (f->cpp_type() == FieldDescriptor::CPPTYPE_STRING && below(random, 2) == 0) {
        const auto& reflection = *m.GetReflection();
        if (!f->is_repeated())
          return reflection.GetString(m, f);
        return reflection.GetRepeatedString(
            m, f, static_cast<int>(below(random, static_cast<std::size_t>(reflection.FieldSize(m, f)))));
      }
  }
  return old;
}

void change_repeated(Message& m, const FieldDescriptor& f, const std::vector<Message*>& all,
                     random_source& random) {
  const auto& reflection = *m.GetReflection();
  const auto size = reflection.FieldSize(m, &f);
  const auto at = static_cast<int>(below(random, static_cast<std::size_t>(size)));
  switch (below(random, 4)) {
  case 0:
    if (size > 0)
      reflection.RemoveLast(&m, &f);
    return;
  case 1:
    if (size > 1)
      reflection.SwapElements(&m, &f, at, size - 1);
    return;
  default:
    break;
  }
  switch (f.cpp_type()) {
  case FieldDescriptor::CPPTYPE_MESSAGE: {
    auto& added = *reflection.AddMessage(&m, &f);
    if (size > 0)
      added.CopyFrom(reflection.GetRepeatedMessage(m, &f, at));
    return;
  }
  case FieldDescriptor::CPPTYPE_STRING:
    if (size > 0)
      reflection.SetRepeatedString(&m, &f, at, text(random, all, reflection.GetRepeatedString(m, &f, at)));
    else
      reflection.AddString(&m, &f, text(random, all, "x"));
    return;
  case FieldDescriptor::CPPTYPE_INT64:
    if (size > 0)
      reflection.SetRepeatedInt64(&m, &f, at, number(random));
    else
      reflection.AddInt64(&m, &f, number(random));
    return;
  case FieldDescriptor::CPPTYPE_INT32:
    reflection.AddInt32(&m, &f, static_cast<std::int32_t>(number(random)));
    return;
  case FieldDescriptor::CPPTYPE_FLOAT:
    reflection.AddFloat(&m, &f, static_cast<float>(number(random)));
    return;
  default:
    return;
  }
}

void change(Message& m, const FieldDescriptor& f, const std::vector<Message*>& all, random_source& random) {
  const auto& reflection = *m.GetReflection();
  if (f.is_repeated())
    return change_repeated(m, f, all, random);
  if (below(random, 6) == 0)
    return reflection.ClearField(&m, &f);
  switch (f.cpp_type()) {
  case FieldDescriptor::CPPTYPE_MESSAGE: {
    // A copy of one of the same type from elsewhere, which may contain this place or share a oneof with it.
    const auto& other = *all[below(random, all.size())];
    const std::unique_ptr<Message> copy{other.New()};
    copy->CopyFrom(other);
    if (copy->GetDescriptor() == f.message_type())
      reflection.MutableMessage(&m, &f)->CopyFrom(*copy);
    else
      reflection.MutableMessage(&m, &f);
    return;
  }
  case FieldDescriptor::CPPTYPE_STRING:
    return reflection.SetString(&m, &f, text(random, all, reflection.GetString(m, &f)));
  case FieldDescriptor::CPPTYPE_INT64:
    return reflection.SetInt64(&m, &f, number(random));
  case FieldDescriptor::CPPTYPE_INT32:
    return reflection.SetInt32(&m, &f,
                               static_cast<std::int32_t>(below(random, 2)
                                                             ? below(random, 20)
                                                             : static_cast<std::size_t>(number(random))));
  case FieldDescriptor::CPPTYPE_FLOAT:
    return reflection.SetFloat(&m, &f, static_cast<float>(number(random)));
  case FieldDescriptor::CPPTYPE_ENUM:
    return reflection.SetEnumValue(&m, &f, static_cast<int>(below(random, 16)));
  default:
    return;
  }
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  random_source random{seed};
  random.discard(2);
  onnx::ModelProto model;
  if (size < 4) {
    if (!onnx::OnnxParser::Parse(model, seeds[below(random, seeds.size())]).IsOK())
      return LLVMFuzzerMutate(data, size, max_size);
  } else if (below(random, 4) == 0 || !model.ParseFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (auto changes = below(random, 3) + 1; changes > 0; --changes) {
    std::vector<Message*> all;
    collect(model, all);
    auto& m = *all[below(random, all.size())];
    const auto& type = *m.GetDescriptor();
    change(m, *type.field(static_cast<int>(below(random, static_cast<std::size_t>(type.field_count())))), all,
           random);
  }
  const auto written = model.ByteSizeLong();
  if (written > max_size || !model.SerializeToArray(data, static_cast<int>(written)))
    return LLVMFuzzerMutate(data, size, max_size);
  return written;
}
