#include <sluice/ops/inference.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/rnn_cells.hpp>

#include <optional>

namespace sluice::ops {

namespace {

enum : std::size_t { x_input, w_input, r_input, b_input, lengths_input, h_input, c_input, p_input };

enum class direction { forward, reverse, both };

direction direction_of(const op_view& op) {
  const auto name = op.attributes().get<std::string>("direction", "forward");
  if (name == "forward")
    return direction::forward;
  if (name == "reverse")
    return direction::reverse;
  if (name == "bidirectional")
    return direction::both;
  throw error{errc::invalid_graph, "direction is '" + name + "'"};
}

/// Y, Y_h and, for an LSTM, Y_c.
template <class Cell>
std::vector<value_type> infer_rnn(const op_view& op) {
  require_element(op, x_input, {element_type::float32, element_type::float64, element_type::float16});
  const auto directions = direction_of(op) == direction::both ? 2 : 1;
  const auto batch_first = op.attributes().get<std::int64_t>("layout", 0) != 0;
  const auto& x = op.shape(x_input);
  const auto& r = op.shape(r_input);
  const auto expect_rank = [&](std::size_t i, std::size_t rank) {
    if (op.has_input(i) && op.shape(i).has_rank() && op.shape(i).rank() != rank)
      throw error{errc::invalid_graph, "input " + std::to_string(i) + " " + to_string(op.shape(i)) +
                                           " should have " + std::to_string(rank) + " axes"};
  };
  for (const auto i : {x_input, w_input, r_input, h_input, c_input})
    expect_rank(i, 3);
  for (const auto i : {b_input, p_input})
    expect_rank(i, 2);
  dim hidden;
  if (const auto given = op.attributes().get<std::int64_t>("hidden_size", 0); given > 0)
    hidden = dim{given};
  else if (r.has_rank())
    hidden = r[2];
  const auto time = x.has_rank() ? x[batch_first ? 1 : 0] : dim{};
  const auto batch = x.has_rank() ? x[batch_first ? 0 : 1] : dim{};
  const auto element = op.element(x_input);
  const partial_shape y = batch_first ? partial_shape{batch, time, directions, hidden}
                                      : partial_shape{time, directions, batch, hidden};
  const partial_shape last =
      batch_first ? partial_shape{batch, directions, hidden} : partial_shape{directions, batch, hidden};
  std::vector<value_type> types{{element, y}};
  for (std::size_t i = 1; i < op.output_count(); ++i)
    types.emplace_back(element, last);
  return types;
}

op_cost rnn_cost(const op_view& op, std::span<const value_type> outputs) {
  auto cost = elementwise_cost()(op, outputs);
  const auto& x = op.shape(x_input);
  const auto rows = static_cast<double>(x[0].extent()) * static_cast<double>(x[1].extent());
  cost.flops = 2 * rows * (elements(op.input(w_input)) + elements(op.input(r_input)));
  return cost;
}

/// The extents of one execution, checked.
struct rnn_extents {
  std::size_t time, batch, in, hidden, directions;
  bool batch_first;
};

/// A recurrent operator: all products with the input first, in one go, then step by step.
template <class T, class Cell>
class rnn_kernel final : public prepared_kernel {
  using C = compute_type<T>;

public:
  explicit rnn_kernel(const op_view& op)
    : direction_(direction_of(op)), batch_first_(op.attributes().get<std::int64_t>("layout", 0) != 0),
      hidden_(op.attributes().get<std::int64_t>("hidden_size", 0)) {
    const auto directions = std::size_t{direction_ == direction::both ? 2u : 1u};
    options_.activations = rnn_activations(op, directions, Cell::defaults());
    options_.clip = op.attributes().get<float>("clip", 0.0f);
    options_.input_forget = op.attributes().get<std::int64_t>("input_forget", 0) != 0;
    options_.linear_before_reset = op.attributes().get<std::int64_t>("linear_before_reset", 0) != 0;
    const auto& w = op.constant(w_input);
    const auto& r = op.constant(r_input);
    if (w.empty() || r.empty())
      return;
    const auto e = weight_extents(w.tensor().shape(), r.tensor().shape());
    w_ = tensor::make(element_type::uint8, bytes_shape(directions * w_size(e)));
    r_ = tensor::make(element_type::uint8, bytes_shape(directions * r_size(e)));
    pack_w(e, computable<T>{nullptr, w.tensor()}.data(), static_cast<C*>(w_->raw()));
    pack_r(e, computable<T>{nullptr, r.tensor()}.data(), static_cast<C*>(r_->raw()));
  }

  completion execute(kernel_context& ctx) const override {
    const auto e = extents_of(ctx);
    const auto w = packed(ctx, w_input, w_, e.directions * w_size(e),
                          [&](const C* from, C* to) { pack_w(e, from, to); });
    const auto r = packed(ctx, r_input, r_, e.directions * r_size(e),
                          [&](const C* from, C* to) { pack_r(e, from, to); });
    const auto n = [](std::size_t v) { return static_cast<std::int64_t>(v); };
    const shape y_shape = batch_first_ ? shape{n(e.batch), n(e.time), n(e.directions), n(e.hidden)}
                                       : shape{n(e.time), n(e.directions), n(e.batch), n(e.hidden)};
    const shape last_shape = batch_first_ ? shape{n(e.batch), n(e.directions), n(e.hidden)}
                                          : shape{n(e.directions), n(e.batch), n(e.hidden)};
    computed_output<T> y{ctx, 0, y_shape};
    std::optional<computed_output<T>> last_h, last_c;
    if (ctx.output_count() > 1)
      last_h.emplace(ctx, 1, last_shape);
    if (Cell::has_c && ctx.output_count() > 2)
      last_c.emplace(ctx, 2, last_shape);
    for (std::size_t d = 0; d < e.directions; ++d)
      run(ctx, e, d, w.data + d * w_size(e), r.data + d * r_size(e), y.data(),
          last_h ? last_h->data() : nullptr, last_c ? last_c->data() : nullptr);
    y.finish();
    if (last_h)
      last_h->finish();
    if (last_c)
      last_c->finish();
    return completion::done;
  }

  std::size_t packed_bytes() const noexcept override {
    return (w_ ? w_->bytes() : 0) + (r_ ? r_->bytes() : 0);
  }

private:
  struct packed_weights {
    const C* data;
    scratch_array<C> made;
  };

  static shape bytes_shape(std::size_t n) { return {static_cast<std::int64_t>(n * sizeof(C))}; }
  static std::size_t w_size(const rnn_extents& e) { return packed_size<C>(e.in, Cell::gates * e.hidden); }
  static std::size_t r_size(const rnn_extents& e) {
    std::size_t n = 0;
    for (const auto gates : Cell::packed_gates())
      n += packed_size<C>(e.hidden, gates * e.hidden);
    return n;
  }

  template <class Pack>
  static packed_weights packed(const kernel_context& ctx, std::size_t i,
                               const intrusive_ptr<tensor>& constant, std::size_t size, Pack&& pack_to) {
    if (constant)
      return {static_cast<const C*>(constant->raw()), {}};
    scratch_array<C> made{ctx, size};
    pack_to(computable<T>{&ctx, ctx.input(i)}.data(), made.data());
    return {made.data(), std::move(made)};
  }

  /// Checks the weights against each other and the attributes.
  rnn_extents weight_extents(const shape& w, const shape& r) const {
    const auto directions = direction_ == direction::both ? 2 : 1;
    if (w.rank() != 3 || r.rank() != 3)
      throw error{errc::kernel_failed, "weights " + to_string(w) + " and " + to_string(r)};
    const auto hidden = r[2];
    const auto gates = static_cast<std::int64_t>(Cell::gates);
    if (w != shape{directions, gates * hidden, w[2]} || r != shape{directions, gates * hidden, hidden} ||
        (hidden_ > 0 && hidden != hidden_))
      throw error{errc::kernel_failed, "weights " + to_string(w) + " and " + to_string(r) + " for " +
                                           std::to_string(directions) + " directions of " +
                                           std::to_string(gates) + " gates"};
    return {.time = 0,
            .batch = 0,
            .in = static_cast<std::size_t>(w[2]),
            .hidden = static_cast<std::size_t>(hidden),
            .directions = static_cast<std::size_t>(directions),
            .batch_first = batch_first_};
  }

  rnn_extents extents_of(const kernel_context& ctx) const {
    auto e = weight_extents(ctx.input(w_input).shape(), ctx.input(r_input).shape());
    const auto& x = ctx.input(x_input).shape();
    if (x.rank() != 3 || x[2] != static_cast<std::int64_t>(e.in))
      throw error{errc::kernel_failed, "input " + to_string(x) + " for weights of " + std::to_string(e.in)};
    e.time = static_cast<std::size_t>(x[batch_first_ ? 1 : 0]);
    e.batch = static_cast<std::size_t>(x[batch_first_ ? 0 : 1]);
    const auto directions = static_cast<std::int64_t>(e.directions);
    const auto hidden = static_cast<std::int64_t>(e.hidden);
    const auto batch = static_cast<std::int64_t>(e.batch);
    const auto expect = [&](std::size_t i, const shape& s) {
      if (ctx.has_input(i) && ctx.input(i).shape() != s)
        throw error{errc::kernel_failed, "input " + std::to_string(i) + " is " +
                                             to_string(ctx.input(i).shape()) + ", not " + to_string(s)};
    };
    const shape state = batch_first_ ? shape{batch, directions, hidden} : shape{directions, batch, hidden};
    expect(b_input, {directions, 2 * static_cast<std::int64_t>(Cell::gates) * hidden});
    expect(lengths_input, {batch});
    expect(h_input, state);
    expect(c_input, state);
    expect(p_input, {directions, 3 * hidden});
    return e;
  }

  static void pack_w(const rnn_extents& e, const C* w, C* to) {
    const auto gates = Cell::gates * e.hidden;
    for (std::size_t d = 0; d < e.directions; ++d)
      pack(to + d * w_size(e), matrix_view<C>{w + d * gates * e.in, 1, static_cast<std::ptrdiff_t>(e.in)},
           e.in, gates);
  }

  static void pack_r(const rnn_extents& e, const C* r, C* to) {
    for (std::size_t d = 0; d < e.directions; ++d)
      for (const auto gates : Cell::packed_gates()) {
        pack(to, matrix_view<C>{r, 1, static_cast<std::ptrdiff_t>(e.hidden)}, e.hidden, gates * e.hidden);
        to += packed_size<C>(e.hidden, gates * e.hidden);
        r += gates * e.hidden * e.hidden;
      }
  }

  std::vector<std::size_t> lengths(const kernel_context& ctx, const rnn_extents& e) const {
    std::vector<std::size_t> result(e.batch, e.time);
    if (ctx.has_input(lengths_input)) {
      const auto given = ctx.input(lengths_input).data<std::int32_t>();
      for (std::size_t i = 0; i < e.batch; ++i) {
        if (given[i] < 0 || static_cast<std::size_t>(given[i]) > e.time)
          throw error{errc::kernel_failed, "a sequence of length " + std::to_string(given[i]) + " in " +
                                               std::to_string(e.time) + " steps"};
        result[i] = static_cast<std::size_t>(given[i]);
      }
    }
    return result;
  }

  /// x * w + both biases for all steps, rows in the order of x.
  void multiply_input(const kernel_context& ctx, const rnn_extents& e, const C* w, const C* bias,
                      C* to) const {
    const auto gates = Cell::gates * e.hidden;
    const auto rows = e.time * e.batch;
    if (bias) {
      std::vector<C> sum(gates);
      for (std::size_t i = 0; i < gates; ++i) {
        // Where the reset comes after the product, the candidate's recurrent bias is inside it.
        const auto separate = options_.linear_before_reset && Cell::gates == 3 && i >= 2 * e.hidden;
        sum[i] = bias[i] + (separate ? C{} : bias[gates + i]);
      }
      for (std::size_t i = 0; i < rows; ++i)
        std::copy(sum.begin(), sum.end(), to + i * gates);
    }
    const computable<T> x{&ctx, ctx.input(x_input)};
    const matrix_product<C> p{.m = rows,
                              .n = gates,
                              .k = e.in,
                              .a = {x.data(), static_cast<std::ptrdiff_t>(e.in), 1},
                              .b = right_side<C>::packed(w, e.in),
                              .c = to,
                              .c_row = static_cast<std::ptrdiff_t>(gates),
                              .accumulate = bias != nullptr};
    multiply<C>(ctx, {&p, 1});
  }

  void load_state(const kernel_context& ctx, std::size_t i, const rnn_extents& e, std::size_t d,
                  C* to) const {
    if (!ctx.has_input(i)) {
      std::fill_n(to, e.batch * e.hidden, C{});
      return;
    }
    const computable<T> from{&ctx, ctx.input(i)};
    for (std::size_t row = 0; row < e.batch; ++row)
      std::copy_n(from.data() + state_row(e, d, row), e.hidden, to + row * e.hidden);
  }

  std::size_t state_row(const rnn_extents& e, std::size_t d, std::size_t row) const {
    return (batch_first_ ? row * e.directions + d : d * e.batch + row) * e.hidden;
  }

  void run(const kernel_context& ctx, const rnn_extents& e, std::size_t d, const C* w, const C* r, C* y,
           C* last_h, C* last_c) const {
    const auto gates = Cell::gates * e.hidden;
    const auto state = e.batch * e.hidden;
    const auto reverse = direction_ == direction::reverse || d == 1;
    const auto length = lengths(ctx, e);
    std::optional<computable<T>> bias, peepholes;
    if (ctx.has_input(b_input))
      bias.emplace(&ctx, ctx.input(b_input));
    if (Cell::has_c && ctx.has_input(p_input))
      peepholes.emplace(&ctx, ctx.input(p_input));
    const scratch_array<C> memory{ctx, e.time * e.batch * gates + e.batch * gates + 3 * state};
    auto* from_input = memory.data();
    auto* step_gates = from_input + e.time * e.batch * gates;
    auto* h = step_gates + e.batch * gates;
    const auto* own_bias = bias ? bias->data() + d * 2 * gates : nullptr;
    multiply_input(ctx, e, w, own_bias, from_input);
    std::vector<char> active(e.batch, 1);
    const rnn_step<C> step{.ctx = ctx,
                           .batch = e.batch,
                           .hidden = e.hidden,
                           .active = active,
                           .recurrent = r,
                           .recurrent_bias = own_bias ? own_bias + gates : nullptr,
                           .peepholes = peepholes ? peepholes->data() + d * 3 * e.hidden : nullptr,
                           .gates = step_gates,
                           .scratch = h + 2 * state,
                           .h = h,
                           .c = h + state};
    load_state(ctx, h_input, e, d, step.h);
    load_state(ctx, c_input, e, d, step.c);
    for (std::size_t s = 0; s < e.time; ++s) {
      const auto time_of = [&](std::size_t row) {
        return !active[row] ? s : reverse ? length[row] - 1 - s : s;
      };
      for (std::size_t row = 0; row < e.batch; ++row) {
        active[row] = s < length[row];
        const auto t = time_of(row);
        std::copy_n(from_input + (batch_first_ ? row * e.time + t : t * e.batch + row) * gates, gates,
                    step_gates + row * gates);
      }
      Cell::step(step, options_, options_.activations.data() + d * Cell::activations);
      for (std::size_t row = 0; row < e.batch; ++row) {
        const auto t = time_of(row);
        auto* to = y + (batch_first_ ? (row * e.time + t) * e.directions + d
                                     : (t * e.directions + d) * e.batch + row) *
                           e.hidden;
        if (active[row])
          std::copy_n(step.h + row * e.hidden, e.hidden, to);
        else // past the end of its sequence
          std::fill_n(to, e.hidden, C{});
      }
    }
    for (std::size_t row = 0; row < e.batch; ++row) {
      if (last_h)
        std::copy_n(step.h + row * e.hidden, e.hidden, last_h + state_row(e, d, row));
      if (last_c)
        std::copy_n(step.c + row * e.hidden, e.hidden, last_c + state_row(e, d, row));
    }
  }

  const direction direction_;
  const bool batch_first_;
  const std::int64_t hidden_;
  rnn_options options_;
  intrusive_ptr<tensor> w_;
  intrusive_ptr<tensor> r_;
};

template <class Cell>
std::unique_ptr<prepared_kernel> prepare_rnn(const kernel_request& r) {
  switch (r.op.element(x_input)) {
  case element_type::float32:
    return std::make_unique<rnn_kernel<float, Cell>>(r.op);
  case element_type::float64:
    return std::make_unique<rnn_kernel<double, Cell>>(r.op);
  default:
    return std::make_unique<rnn_kernel<float16, Cell>>(r.op);
  }
}

template <class Cell>
void add(operator_library& lib, const char* name, std::size_t inputs, std::size_t outputs) {
  lib.add({.name = name,
           .min_inputs = 3,
           .max_inputs = inputs,
           .max_outputs = outputs,
           .infer = infer_rnn<Cell>,
           .cost = rnn_cost},
          {prepare_rnn<Cell>});
}

} // namespace

void register_rnn(operator_library& lib) {
  add<simple_cell>(lib, "RNN", 6, 2);
  add<gru_cell>(lib, "GRU", 6, 2);
  add<lstm_cell>(lib, "LSTM", 8, 3);
}

} // namespace sluice::ops
