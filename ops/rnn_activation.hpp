#pragma once

#include <sluice/graph/op_schema.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::ops {

/// An activation function of a recurrent operator, with its parameters.
class rnn_activation {
public:
  /// Parameters that are not given take the operator's own defaults. Throws errc::invalid_graph for an
  /// unknown name.
  rnn_activation(const std::string& name, std::vector<float>& alphas, std::vector<float>& betas);

  /// x = f(x) for n elements.
  void apply(float* x, std::size_t n) const;
  void apply(double* x, std::size_t n) const;

private:
  enum class kind {
    relu,
    tanh,
    sigmoid,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
    softsign,
    softplus
  };
  template <class C>
  C of(C x) const;

  kind kind_;
  float alpha_ = 0;
  float beta_ = 0;
};

/// The activations of a node: `count` a direction, `otherwise` where none are named. Values of
/// activation_alpha and activation_beta go, in order, to the functions that take them.
[[nodiscard]] std::vector<rnn_activation> rnn_activations(const op_view& op, std::size_t directions,
                                                          const std::vector<std::string>& otherwise);

} // namespace sluice::ops
