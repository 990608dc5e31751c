#pragma once

#include <string>
#include <string_view>

namespace sluice::test {

inline std::string unhexed(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16)));
  return bytes;
}

/// An ONNX model, opset 13: y = Identity(x), float32[N].
inline std::string identity_model() {
  return unhexed(
      "080712003a460a160a01781201791a047061737322084964656e7469747912086964656e746974795a100a0178120b0a0908"
      "0112050a0312014e62100a0179120b0a09080112050a0312014e42040a00100d");
}

/// The same with an operator that nobody knows: y = Nonsense(x).
inline std::string nonsense_model() {
  return unhexed(
      "080712003a400a150a01781201791a036f646422084e6f6e73656e736512036f64645a100a0178120b0a09080112050a0312"
      "014e62100a0179120b0a09080112050a0312014e42040a00100d");
}

/// y = Add(a, b), float32[N] and float32[M], which is wrong where the extents differ and neither is 1.
inline std::string sum_model() {
  return unhexed(
      "080712003a480a0e0a01610a0162120179220341646412005a100a0161120b0a09080112050a0312014e5a100a016212"
      "0b0a09080112050a0312014d62100a0179120b0a09080112050a0312014b42040a00100d");
}

} // namespace sluice::test
