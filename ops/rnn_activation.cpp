#include <sluice/ops/rnn_activation.hpp>

#include <sluice/ops/dense_kernels.hpp>

#include <algorithm>
#include <cmath>

namespace sluice::ops {

namespace {

/// The next value of a list that is used up, or `otherwise` when it is empty.
float take(std::vector<float>& values, float otherwise) {
  if (values.empty())
    return otherwise;
  const auto first = values.front();
  values.erase(values.begin());
  return first;
}

std::string lower_case(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return s;
}

} // namespace

rnn_activation::rnn_activation(const std::string& name, std::vector<float>& alphas,
                               std::vector<float>& betas) {
  struct entry {
    const char* name;
    kind k;
    int parameters;
    float alpha;
    float beta;
  };
  static constexpr entry known[] = {
      {"relu", kind::relu, 0, 0, 0},
      {"tanh", kind::tanh, 0, 0, 0},
      {"sigmoid", kind::sigmoid, 0, 0, 0},
      {"affine", kind::affine, 2, 1, 0},
      {"leakyrelu", kind::leaky_relu, 1, 0.01f, 0},
      {"thresholdedrelu", kind::thresholded_relu, 1, 1, 0},
      {"scaledtanh", kind::scaled_tanh, 2, 1, 1},
      {"hardsigmoid", kind::hard_sigmoid, 2, 0.2f, 0.5f},
      {"elu", kind::elu, 1, 1, 0},
      {"softsign", kind::softsign, 0, 0, 0},
      {"softplus", kind::softplus, 0, 0, 0},
  };
  const auto wanted = lower_case(name);
  for (const auto& e : known)
    if (wanted == e.name) {
      kind_ = e.k;
      if (e.parameters > 0)
        alpha_ = take(alphas, e.alpha);
      if (e.parameters > 1)
        beta_ = take(betas, e.beta);
      return;
    }
  throw error{errc::invalid_graph, "activation '" + name + "' is not known"};
}

template <class C>
C rnn_activation::of(C x) const {
  const auto alpha = static_cast<C>(alpha_);
  const auto beta = static_cast<C>(beta_);
  switch (kind_) {
  case kind::relu:
    return std::max(x, C{0});
  case kind::tanh:
    return std::tanh(x);
  case kind::sigmoid:
    return 1 / (1 + std::exp(-x));
  case kind::affine:
    return alpha * x + beta;
  case kind::leaky_relu:
    return x >= 0 ? x : alpha * x;
  case kind::thresholded_relu:
    return x > alpha ? x : 0;
  case kind::scaled_tanh:
    return alpha * std::tanh(beta * x);
  case kind::hard_sigmoid:
    return std::clamp(alpha * x + beta, C{0}, C{1});
  case kind::elu:
    return x >= 0 ? x : alpha * (std::exp(x) - 1);
  case kind::softsign:
    return x / (1 + std::abs(x));
  case kind::softplus:
    return std::log1p(std::exp(-std::abs(x))) + std::max(x, C{0});
  }
  return x;
}

void rnn_activation::apply(float* x, std::size_t n) const {
  if (kind_ == kind::sigmoid)
    return dense_loops().sigmoid(x, n);
  if (kind_ == kind::tanh)
    return dense_loops().tanh(x, n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = of(x[i]);
}

void rnn_activation::apply(double* x, std::size_t n) const {
  for (std::size_t i = 0; i < n; ++i)
    x[i] = of(x[i]);
}

std::vector<rnn_activation> rnn_activations(const op_view& op, std::size_t directions,
                                            const std::vector<std::string>& otherwise) {
  auto names = op.attributes().get<std::vector<std::string>>("activations", {});
  auto alphas = op.attributes().get<std::vector<float>>("activation_alpha", {});
  auto betas = op.attributes().get<std::vector<float>>("activation_beta", {});
  if (names.empty())
    for (std::size_t i = 0; i < directions; ++i)
      names.insert(names.end(), otherwise.begin(), otherwise.end());
  if (names.size() != directions * otherwise.size())
    throw error{errc::invalid_graph, "attribute activations has " + std::to_string(names.size()) +
                                         " names, not " + std::to_string(directions * otherwise.size())};
  std::vector<rnn_activation> activations;
  for (const auto& name : names)
    activations.emplace_back(name, alphas, betas);
  return activations;
}

} // namespace sluice::ops
