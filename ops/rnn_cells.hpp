#pragma once

#include <sluice/ops/gemm.hpp>
#include <sluice/ops/operand.hpp>
#include <sluice/ops/rnn_activation.hpp>

#include <algorithm>
#include <string>
#include <vector>

/// One step of a recurrent network for all rows of a batch.
namespace sluice::ops {

/// What steps of one direction share.
template <class C>
struct rnn_step {
  const kernel_context& ctx;
  std::size_t batch;
  std::size_t hidden;
  const std::vector<char>& active; ///< by row: false where its sequence has ended
  const C* recurrent;              ///< packed, transposed: hidden x gates (as the cell packs it)
  const C* recurrent_bias;         ///< gates; null for none
  const C* peepholes;              ///< LSTM: i, o, f; null for none
  C* gates;                        ///< in: x * w + biases, rows of all gates; used up
  C* scratch;                      ///< batch x hidden
  C* h;                            ///< batch x hidden
  C* c;                            ///< batch x hidden, LSTM only
};

/// What a node's attributes say of a cell.
struct rnn_options {
  std::vector<rnn_activation> activations; ///< of all directions
  float clip = 0;                          ///< 0: none
  bool input_forget = false;
  bool linear_before_reset = false;
};

/// x = f(clipped x).
template <class C>
void activate(const rnn_options& o, const rnn_activation& f, C* x, std::size_t n) {
  if (o.clip > 0)
    for (std::size_t i = 0; i < n; ++i)
      x[i] = std::clamp(x[i], -static_cast<C>(o.clip), static_cast<C>(o.clip));
  f.apply(x, n);
}

/// gates[.., first of columns] += h * recurrent for all rows.
template <class C>
void add_recurrent(const rnn_step<C>& s, const C* h, const C* panels, std::size_t columns, C* to,
                   std::size_t row) {
  const matrix_product<C> p{.m = s.batch,
                            .n = columns,
                            .k = s.hidden,
                            .a = {h, static_cast<std::ptrdiff_t>(s.hidden), 1},
                            .b = right_side<C>::packed(panels, s.hidden),
                            .c = to,
                            .c_row = static_cast<std::ptrdiff_t>(row),
                            .accumulate = true};
  multiply<C>(s.ctx, {&p, 1});
}

struct simple_cell {
  static constexpr std::size_t gates = 1;
  static constexpr std::size_t activations = 1;
  static constexpr bool has_c = false;
  static std::vector<std::size_t> packed_gates() { return {1}; }
  static std::vector<std::string> defaults() { return {"Tanh"}; }

  template <class C>
  static void step(const rnn_step<C>& s, const rnn_options& o, const rnn_activation* f) {
    add_recurrent(s, s.h, s.recurrent, s.hidden, s.gates, s.hidden);
    for (std::size_t row = 0; row < s.batch; ++row) {
      if (!s.active[row])
        continue;
      auto* x = s.gates + row * s.hidden;
      activate(o, f[0], x, s.hidden);
      std::copy_n(x, s.hidden, s.h + row * s.hidden);
    }
  }
};

struct gru_cell { // gates z, r, h
  static constexpr std::size_t gates = 3;
  static constexpr std::size_t activations = 2;
  static constexpr bool has_c = false;
  static std::vector<std::size_t> packed_gates() { return {2, 1}; }
  static std::vector<std::string> defaults() { return {"Sigmoid", "Tanh"}; }

  template <class C>
  static void step(const rnn_step<C>& s, const rnn_options& o, const rnn_activation* f) {
    const auto n = s.hidden;
    const auto* candidate = s.recurrent + packed_size<C>(n, 2 * n);
    add_recurrent(s, s.h, s.recurrent, 2 * n, s.gates, 3 * n);
    for (std::size_t row = 0; row < s.batch; ++row) {
      auto* z = s.gates + row * 3 * n;
      activate(o, f[0], z, 2 * n);
      auto* reset = s.scratch + row * n;
      if (o.linear_before_reset) // r . (h * R + b): the product comes first
        for (std::size_t i = 0; i < n; ++i)
          reset[i] = s.recurrent_bias ? s.recurrent_bias[2 * n + i] : C{};
      else // (r . h) * R
        for (std::size_t i = 0; i < n; ++i)
          reset[i] = z[n + i] * s.h[row * n + i];
    }
    if (o.linear_before_reset)
      add_recurrent(s, s.h, candidate, n, s.scratch, n);
    else
      add_recurrent(s, s.scratch, candidate, n, s.gates + 2 * n, 3 * n);
    for (std::size_t row = 0; row < s.batch; ++row) {
      if (!s.active[row])
        continue;
      auto* z = s.gates + row * 3 * n;
      const auto* r = z + n;
      auto* x = z + 2 * n;
      if (o.linear_before_reset)
        for (std::size_t i = 0; i < n; ++i)
          x[i] += r[i] * s.scratch[row * n + i];
      activate(o, f[1], x, n);
      auto* h = s.h + row * n;
      for (std::size_t i = 0; i < n; ++i)
        h[i] = (1 - z[i]) * x[i] + z[i] * h[i];
    }
  }
};

struct lstm_cell { // gates i, o, f, c
  static constexpr std::size_t gates = 4;
  static constexpr std::size_t activations = 3;
  static constexpr bool has_c = true;
  static std::vector<std::size_t> packed_gates() { return {4}; }
  static std::vector<std::string> defaults() { return {"Sigmoid", "Tanh", "Tanh"}; }

  template <class C>
  static void step(const rnn_step<C>& s, const rnn_options& o, const rnn_activation* f) {
    const auto n = s.hidden;
    add_recurrent(s, s.h, s.recurrent, 4 * n, s.gates, 4 * n);
    for (std::size_t row = 0; row < s.batch; ++row) {
      if (!s.active[row])
        continue;
      auto* in = s.gates + row * 4 * n;
      auto* out = in + n;
      auto* forget = out + n;
      auto* candidate = forget + n;
      auto* c = s.c + row * n;
      auto* h = s.h + row * n;
      if (s.peepholes)
        for (std::size_t i = 0; i < n; ++i) {
          in[i] += s.peepholes[i] * c[i];
          forget[i] += s.peepholes[2 * n + i] * c[i];
        }
      else
        activate(o, f[0], out, n);
      activate(o, f[0], in, n);
      if (o.input_forget)
        for (std::size_t i = 0; i < n; ++i)
          forget[i] = 1 - in[i];
      else
        activate(o, f[0], forget, n);
      activate(o, f[1], candidate, n);
      for (std::size_t i = 0; i < n; ++i)
        h[i] = c[i] = forget[i] * c[i] + in[i] * candidate[i];
      if (s.peepholes) {
        for (std::size_t i = 0; i < n; ++i)
          out[i] += s.peepholes[n + i] * c[i];
        activate(o, f[0], out, n);
      }
      f[2].apply(h, n);
      for (std::size_t i = 0; i < n; ++i)
        h[i] *= out[i];
    }
  }
};

} // namespace sluice::ops
