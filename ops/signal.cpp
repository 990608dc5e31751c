#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace sluice::ops {

namespace {

using complex = std::complex<double>;

/// Discrete Fourier transforms of one length: halved while that is even, summed directly below.
class fourier {
public:
  fourier(std::size_t n, bool inverse) : n_(n), roots_(n) {
    const auto turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i)
      roots_[i] = std::polar(1.0, turn * static_cast<double>(i));
  }

  /// Without a factor. `x` and `y` hold n elements and do not overlap.
  void transform(const complex* x, complex* y) const { transform(x, 1, y, n_); }

private:
  /// y = the transform of n elements of x, `stride` apart; stride n is the whole length.
  void transform(const complex* x, std::size_t stride, complex* y, std::size_t n) const {
    if (n % 2 != 0) {
      for (std::size_t k = 0; k < n; ++k) {
        complex sum{};
        for (std::size_t i = 0; i < n; ++i)
          sum += x[i * stride] * roots_[i * k % n * stride];
        y[k] = sum;
      }
      return;
    }
    const auto half = n / 2;
    transform(x, 2 * stride, y, half);
    transform(x + stride, 2 * stride, y + half, half);
    for (std::size_t k = 0; k < half; ++k) {
      const auto even = y[k];
      const auto odd = y[k + half] * roots_[k * stride];
      y[k] = even + odd;
      y[k + half] = even - odd;
    }
  }

  std::size_t n_;
  std::vector<complex> roots_;
};

constexpr std::int64_t longest_transform = std::int64_t{1} << 26;

void require_length(std::int64_t n) {
  if (n < 1 || n > longest_transform)
    throw error{errc::kernel_failed, "a Fourier transform of " + std::to_string(n) + " points"};
}

/// The one integer of an input, if it is there.
std::optional<std::int64_t> integer_at(const kernel_context& ctx, std::size_t i) {
  if (!ctx.has_input(i))
    return std::nullopt;
  const auto list = integers_of(ctx.input(i));
  if (list.size() != 1)
    throw error{errc::kernel_failed, describe(ctx.input_value(i)) + " where one number is needed"};
  return list[0];
}

std::optional<std::int64_t> constant_integer(const op_view& op, std::size_t i) {
  const auto list = op.has_input(i) ? op.constant_integers(i) : std::nullopt;
  return list && list->size() == 1 ? std::optional{list->front()} : std::nullopt;
}

dim halved(const dim& d, bool onesided) {
  return !onesided ? d : d.known() ? dim{d.extent() / 2 + 1} : dim{};
}

// DFT: the last axis holds real and imaginary parts

std::vector<value_type> infer_dft(const op_view& op) {
  auto s = op.shape(0);
  if (!s.has_rank())
    return {{op.element(0), {}}};
  if (s.rank() < 2)
    throw error{errc::invalid_graph, "a signal without an axis for real and imaginary parts"};
  const auto axis = normalize_axis(op.attributes().get<std::int64_t>("axis", 1), s.rank());
  if (op.has_input(1)) {
    const auto length = constant_integer(op, 1);
    s[axis] = length ? dim{*length} : dim{};
  }
  s[axis] = halved(s[axis], op.attributes().get<std::int64_t>("onesided", 0) != 0);
  s[s.rank() - 1] = 2;
  return {{op.element(0), std::move(s)}};
}

struct dft_options {
  std::int64_t axis;
  bool inverse;
  bool onesided;
};

template <class T>
void dft(const kernel_context& ctx, const dft_options& o, std::int64_t length, const tensor& in,
         tensor& out) {
  const auto& s = in.shape();
  const auto axis = static_cast<std::size_t>(o.axis);
  const auto parts = s[s.rank() - 1];
  const auto inner = s.product(axis + 1, s.rank() - 1);
  const auto given = std::min(length, s[axis]);
  const auto kept = out.shape()[axis];
  const auto* x = in.data<T>().data();
  auto* y = out.data<T>().data();
  const fourier f{static_cast<std::size_t>(length), o.inverse};
  const auto factor = o.inverse ? 1.0 / static_cast<double>(length) : 1.0;
  ctx.parallel_for(
      static_cast<std::size_t>(s.product(0, axis) * inner), grain_for(32 * length),
      [&](std::size_t begin, std::size_t end) {
        std::vector<complex> signal(static_cast<std::size_t>(length));
        std::vector<complex> spectrum(signal.size());
        for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
          const auto from = (i / inner * s[axis] * inner + i % inner) * parts;
          const auto to = (i / inner * kept * inner + i % inner) * 2;
          for (std::int64_t k = 0; k < given; ++k) {
            const auto* sample = x + from + k * inner * parts;
            signal[static_cast<std::size_t>(k)] = {static_cast<double>(sample[0]),
                                                   parts == 2 ? static_cast<double>(sample[1]) : 0.0};
          }
          f.transform(signal.data(), spectrum.data());
          for (std::int64_t k = 0; k < kept; ++k) {
            const auto value = spectrum[static_cast<std::size_t>(k)] * factor;
            y[to + k * inner * 2] = static_cast<T>(value.real());
            y[to + k * inner * 2 + 1] = static_cast<T>(value.imag());
          }
        }
      });
}

kernel_entry dft_kernel() {
  return {[](const kernel_request& r) {
    const auto& a = r.op.attributes();
    const dft_options given{a.get<std::int64_t>("axis", 1), a.get<std::int64_t>("inverse", 0) != 0,
                            a.get<std::int64_t>("onesided", 0) != 0};
    return make_kernel([given](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto& s = in.shape();
      auto o = given;
      o.axis = static_cast<std::int64_t>(axis_of(given.axis, s.rank()));
      const auto axis = static_cast<std::size_t>(o.axis);
      if (s.rank() < 2 || axis + 1 == s.rank() || s[s.rank() - 1] < 1 || s[s.rank() - 1] > 2)
        throw error{errc::kernel_failed,
                    "a signal of shape " + to_string(s) + " has no real and imaginary parts"};
      const auto length = integer_at(ctx, 1).value_or(s[axis]);
      require_length(length);
      auto& out =
          ctx.output(0, in.type(), s.with(axis, o.onesided ? length / 2 + 1 : length).with(s.rank() - 1, 2));
      visit_among(type_list<float, double>{}, in.type(),
                  [&]<class T>(std::type_identity<T>) { dft<T>(ctx, o, length, in, out); });
    });
  }};
}

// STFT

std::vector<value_type> infer_stft(const op_view& op) {
  const auto& s = op.shape(0);
  const auto step = constant_integer(op, 1);
  auto length = constant_integer(op, 3);
  if (!length && op.has_input(2) && op.shape(2).has_rank() && op.shape(2).rank() == 1 &&
      op.shape(2)[0].known())
    length = op.shape(2)[0].extent();
  const auto onesided = op.attributes().get<std::int64_t>("onesided", 1) != 0;
  dim frames;
  if (s.has_rank() && s.rank() >= 2 && s[1].known() && step && *step > 0 && length &&
      *length <= s[1].extent())
    frames = (s[1].extent() - *length) / *step + 1;
  return {{op.element(0),
           {s.has_rank() ? s[0] : dim{}, frames, halved(length ? dim{*length} : dim{}, onesided), dim{2}}}};
}

kernel_entry stft_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([onesided =
                            r.op.attributes().get<std::int64_t>("onesided", 1) != 0](kernel_context& ctx) {
      const auto& in = ctx.input(0);
      const auto& s = in.shape();
      const auto step = integer_at(ctx, 1).value_or(0);
      const auto length = integer_at(ctx, 3).value_or(ctx.has_input(2) ? ctx.input(2).elements() : 0);
      require_length(length);
      const auto parts = s.rank() == 3 ? s[2] : 1;
      if (s.rank() < 2 || s.rank() > 3 || parts < 1 || parts > 2 || step < 1 || s[1] < length ||
          (ctx.has_input(2) && (ctx.input(2).elements() != length || ctx.input(2).type() != in.type())))
        throw error{errc::kernel_failed,
                    "frames of " + std::to_string(length) + " every " + std::to_string(step) +
                        " with the given window do not fit a signal " + describe(ctx.input_value(0))};
      const auto frames = (s[1] - length) / step + 1;
      const auto kept = onesided ? length / 2 + 1 : length;
      auto& out = ctx.output(0, in.type(), {s[0], frames, kept, 2});
      const fourier f{static_cast<std::size_t>(length), false};
      visit_among(type_list<float, double>{}, in.type(), [&]<class T>(std::type_identity<T>) {
        const auto* x = in.data<T>().data();
        const auto* window = ctx.has_input(2) ? ctx.input(2).data<T>().data() : nullptr;
        auto* y = out.data<T>().data();
        ctx.parallel_for(
            static_cast<std::size_t>(s[0] * frames), grain_for(32 * length),
            [&](std::size_t begin, std::size_t end) {
              std::vector<complex> signal(static_cast<std::size_t>(length));
              std::vector<complex> spectrum(signal.size());
              for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
                const auto* from = x + (i / frames * s[1] + i % frames * step) * parts;
                for (std::int64_t k = 0; k < length; ++k) {
                  const auto weight = window ? static_cast<double>(window[k]) : 1.0;
                  const auto imaginary = parts == 2 ? static_cast<double>(from[k * parts + 1]) : 0.0;
                  signal[static_cast<std::size_t>(k)] =
                      weight * complex{static_cast<double>(from[k * parts]), imaginary};
                }
                f.transform(signal.data(), spectrum.data());
                for (std::int64_t k = 0; k < kept; ++k) {
                  y[(i * kept + k) * 2] = static_cast<T>(spectrum[static_cast<std::size_t>(k)].real());
                  y[(i * kept + k) * 2 + 1] = static_cast<T>(spectrum[static_cast<std::size_t>(k)].imag());
                }
              }
            });
      });
    });
  }};
}

// MelWeightMatrix

std::vector<value_type> infer_mel(const op_view& op) {
  const auto type = static_cast<element_type>(op.attributes().get<std::int64_t>("output_datatype", 1));
  const auto bins = constant_integer(op, 0);
  const auto length = constant_integer(op, 1);
  return {{type, {length ? dim{*length / 2 + 1} : dim{}, bins ? dim{*bins} : dim{}}}};
}

double edge_at(const kernel_context& ctx, std::size_t i) {
  return ctx.input(i).type() == element_type::float64
             ? ctx.input_value(i).scalar<double>()
             : static_cast<double>(ctx.input_value(i).scalar<float>());
}

/// Triangles that are equally wide on the mel scale, 2595 log10(1 + f / 700), as ONNX's reference has them.
void mel_weights(kernel_context& ctx) {
  const auto bins = integer_at(ctx, 0).value_or(0);
  const auto length = integer_at(ctx, 1).value_or(0);
  const auto rate = integer_at(ctx, 2).value_or(0);
  constexpr std::int64_t most = 1 << 20;
  if (bins < 1 || bins > most || length < 1 || length > most || rate < 1)
    throw error{errc::kernel_failed, std::to_string(bins) + " mel bins from " + std::to_string(length) +
                                         " points at " + std::to_string(rate) + " Hz"};
  const auto rows = length / 2 + 1;
  const auto mel = [](double f) { return 2595 * std::log10(1 + f / 700); };
  const auto low = mel(edge_at(ctx, 3));
  const auto step = (mel(edge_at(ctx, 4)) - low) / static_cast<double>(bins + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bins + 2; ++i) {
    const auto f = 700 * (std::pow(10.0, (static_cast<double>(i) * step + low) / 2595) - 1);
    const auto row = std::floor(static_cast<double>(length + 1) * f / static_cast<double>(rate));
    if (!(row >= 0 && row < static_cast<double>(most)))
      throw error{errc::kernel_failed, "a mel band edge at " + std::to_string(f) + " Hz"};
    edges.push_back(static_cast<std::int64_t>(row));
  }
  auto& out = ctx.output(0, {rows, bins});
  visit_among(float_types{}, out.type(), [&]<class T>(std::type_identity<T>) {
    auto y = out.data<T>();
    std::fill(y.begin(), y.end(), T{});
    const auto put = [&](std::int64_t row, std::size_t bin, double weight) {
      if (row < rows)
        y[static_cast<std::size_t>(row * bins) + bin] = static_cast<T>(static_cast<computed<T>>(weight));
    };
    for (std::size_t bin = 0; bin < static_cast<std::size_t>(bins); ++bin) {
      const auto left = edges[bin];
      const auto centre = edges[bin + 1];
      const auto right = edges[bin + 2];
      if (left == centre)
        put(centre, bin, 1);
      for (auto row = left; left != centre && row <= centre; ++row)
        put(row, bin, static_cast<double>(row - left) / static_cast<double>(centre - left));
      for (auto row = centre; centre != right && row < right; ++row)
        put(row, bin, static_cast<double>(right - row) / static_cast<double>(right - centre));
    }
  });
}

} // namespace

void register_signal(operator_library& lib) {
  lib.add(
      {.name = "DFT", .since_opset = 17, .max_inputs = 2, .infer = infer_dft, .cost = elementwise_cost(32)},
      dft_kernel());
  lib.add({.name = "STFT",
           .since_opset = 17,
           .min_inputs = 2,
           .max_inputs = 4,
           .infer = infer_stft,
           .cost = elementwise_cost(32)},
          stft_kernel());
  lib.add(
      {.name = "MelWeightMatrix", .since_opset = 17, .min_inputs = 5, .max_inputs = 5, .infer = infer_mel},
      plain_kernel(mel_weights));
}

} // namespace sluice::ops
