// Whatever bytes come as a model or a value: a graph, a value, or a sluice::error; nothing else.
#include <sluice/graph/onnx_import.hpp>
#include <sluice/graph/onnx_tensor.hpp>

#include <tests/graph/any_operator.hpp>

#include <google/protobuf/stubs/logging.h>

#include <cstdint>

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr); // it would report every damaged input
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto operators = sluice::test::any_operator();
  // Small, so that the fuzzer's memory limit shows what grows out of proportion.
  sluice::onnx_options options;
  options.max_nodes = 2000;
  options.max_sparse_bytes = std::size_t{1} << 20;
  const auto bytes = std::as_bytes(std::span{data, size});
  constexpr std::uint8_t start_of_a_model = 0x08; // the IR version comes first
  try {
    if (size > 0 && data[0] < 4)
      (void)sluice::read_onnx_value(bytes.subspan(1), static_cast<sluice::value_kind>(data[0]));
    else if (size > 0 && data[0] == start_of_a_model)
      (void)sluice::load_onnx(bytes, operators, options);
  } catch (const sluice::error&) {
  }
  return 0;
}
