#include <sluice/ops/channels.hpp>
#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/vector_math.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace sluice::ops {

namespace {

/// The elements of a floating-point tensor as T.
template <class T>
std::vector<T> numbers(const tensor& t) {
  return visit_among(float_types{}, t.type(), [&]<class U>(std::type_identity<U>) {
    std::vector<T> result;
    result.reserve(static_cast<std::size_t>(t.elements()));
    for (const auto& x : t.data<U>())
      result.push_back(static_cast<T>(static_cast<computed<U>>(x)));
    return result;
  });
}

/// Writes numbers to a floating-point tensor of any type.
template <class T>
void write_numbers(const T* x, tensor& t) {
  visit_among(float_types{}, t.type(), [&]<class U>(std::type_identity<U>) {
    std::transform(x, x + t.elements(), t.data<U>().begin(),
                   [](T v) { return static_cast<U>(static_cast<computed<U>>(v)); });
  });
}

/// Parameters, one for each of `n` channels or elements. Throws unless there are so many.
template <class T>
std::vector<T> parameters(const kernel_context& ctx, std::size_t i, std::int64_t n) {
  if (ctx.input(i).elements() != n)
    throw error{errc::kernel_failed, "input " + std::to_string(i) + " is " + describe(ctx.input_value(i)) +
                                         ", not of " + std::to_string(n) + " elements"};
  return numbers<T>(ctx.input(i));
}

/// y = factor x + offset, for one run of neighbours.
template <class T>
void affine(const T* x, T* y, std::int64_t n, T factor, T offset) {
  const std::array<T, 3> constants = {factor, offset, T{0}};
  vector_math<T>()[unary_function::affine](x, y, static_cast<std::size_t>(n), constants.data());
}

template <class T>
struct moments {
  T mean;
  T variance;
};

template <class T>
moments<T> moments_of(const T* x, std::int64_t n) {
  const auto& loops = vector_math<T>();
  const auto count = static_cast<T>(n);
  const auto mean = loops.sum(x, static_cast<std::size_t>(n)) / count;
  return {mean, loops.sum_of_squares(x, static_cast<std::size_t>(n), mean) / count};
}

// LayerNormalization

std::vector<value_type> infer_layer_normalization(const op_view& op) {
  auto s = op.shape(0);
  const auto stash = op.attributes().get<std::int64_t>("stash_type", 1);
  if (stash != 1)
    throw error{errc::unsupported, "statistics of type " + std::to_string(stash) + " are not supported"};
  if (s.has_rank()) {
    const auto first = normalize_axis(op.attributes().get<std::int64_t>("axis", -1), s.rank());
    for (auto i = first; i < s.rank(); ++i)
      s[i] = 1;
  }
  const value_type statistics{element_type::float32, std::move(s)};
  return {op.input(0), statistics, statistics};
}

kernel_entry layer_normalization_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([axis_given = r.op.attributes().get<std::int64_t>("axis", -1),
                        epsilon = r.op.attributes().get<float>("epsilon", 1e-5F)](kernel_context& ctx) {
      const auto s = ctx.input(0).shape();
      const auto axis = axis_of(axis_given, s.rank());
      const auto rows = s.product(0, axis);
      const auto n = s.product(axis, s.rank());
      auto statistics = s;
      for (auto i = axis; i < s.rank(); ++i)
        statistics = statistics.with(i, 1);
      const auto statistic = [&](std::size_t i) -> float* {
        return i < ctx.output_count() ? ctx.output(i, element_type::float32, statistics).data<float>().data()
                                      : nullptr;
      };
      auto* means = statistic(1);
      auto* inverses = statistic(2);
      with_elements(ctx, [&]<class T>(const T* x, T* y) {
        const auto scale = parameters<T>(ctx, 1, n);
        const auto bias = ctx.has_input(2) ? parameters<T>(ctx, 2, n) : std::vector<T>(scale.size());
        ctx.parallel_for(
            static_cast<std::size_t>(rows), grain_for(3 * n), [&](std::size_t begin, std::size_t end) {
              for (auto row = begin; row < end; ++row) {
                const auto at = static_cast<std::int64_t>(row) * n;
                const auto m = moments_of(x + at, n);
                const auto inverse = T{1} / std::sqrt(m.variance + static_cast<T>(epsilon));
                vector_math<T>().affine_scaled(x + at, scale.data(), bias.data(), y + at,
                                               static_cast<std::size_t>(n), inverse, -m.mean * inverse);
                if (means)
                  means[row] = static_cast<float>(m.mean);
                if (inverses)
                  inverses[row] = static_cast<float>(inverse);
              }
            });
      });
    });
  }};
}

// InstanceNormalization and BatchNormalization: a factor and an offset for each channel

kernel_entry instance_normalization_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([epsilon = r.op.attributes().get<float>("epsilon", 1e-5F)](kernel_context& ctx) {
      const channels c{ctx.input(0).shape()};
      with_elements(ctx, [&]<class T>(const T* x, T* y) {
        const auto scale = parameters<T>(ctx, 1, c.count);
        const auto bias = parameters<T>(ctx, 2, c.count);
        ctx.parallel_for(static_cast<std::size_t>(c.batch * c.count), grain_for(3 * c.inner),
                         [&](std::size_t begin, std::size_t end) {
                           for (auto i = begin; i < end; ++i) {
                             const auto channel = i % scale.size();
                             const auto at = static_cast<std::int64_t>(i) * c.inner;
                             const auto m = moments_of(x + at, c.inner);
                             const auto factor =
                                 scale[channel] / std::sqrt(m.variance + static_cast<T>(epsilon));
                             affine(x + at, y + at, c.inner, factor, bias[channel] - m.mean * factor);
                           }
                         });
      });
    });
  }};
}

/// Opsets 1 to 6 say `is_test`, 7 to 13 train where more than one output is asked for, 14 says so.
bool trains(const op_view& op) {
  const auto& a = op.attributes();
  if (op.opset() >= 14)
    return a.get<std::int64_t>("training_mode", 0) != 0;
  return op.output_count() > 1 && (op.opset() >= 7 || a.get<std::int64_t>("is_test", 0) == 0);
}

std::vector<value_type> infer_batch_normalization(const op_view& op) {
  if (op.attributes().get<std::int64_t>("spatial", 1) == 0)
    throw error{errc::unsupported, "statistics for each element (spatial = 0) are not supported"};
  std::vector<value_type> types = {op.input(0)};
  for (std::size_t i = 1; i < op.output_count(); ++i) // running and, before opset 14, saved mean and variance
    types.push_back(op.input(i % 2 == 1 ? 3 : 4));
  return types;
}

/// The moments of each channel over the whole batch.
template <class T>
std::vector<moments<T>> channel_moments(const kernel_context& ctx, const channels& c, const T* x) {
  std::vector<moments<T>> result(static_cast<std::size_t>(c.count));
  const auto n = static_cast<double>(c.batch * c.inner);
  ctx.parallel_for(result.size(), grain_for(c.batch * c.inner), [&](std::size_t begin, std::size_t end) {
    for (auto channel = begin; channel < end; ++channel) {
      const auto each_run = [&](auto f) {
        double sum = 0;
        for (std::int64_t b = 0; b < c.batch; ++b)
          sum += static_cast<double>(f(x + (b * c.count + static_cast<std::int64_t>(channel)) * c.inner));
        return static_cast<T>(sum / n);
      };
      const auto inner = static_cast<std::size_t>(c.inner);
      const auto mean = each_run([&](const T* run) { return vector_math<T>().sum(run, inner); });
      result[channel] = {
          mean, each_run([&](const T* run) { return vector_math<T>().sum_of_squares(run, inner, mean); })};
    }
  });
  return result;
}

kernel_entry batch_normalization_kernel() {
  return {[](const kernel_request& r) {
    const auto& a = r.op.attributes();
    return make_kernel([training = trains(r.op), epsilon = a.get<float>("epsilon", 1e-5F),
                        momentum = a.get<float>("momentum", 0.9F)](kernel_context& ctx) {
      const channels c{ctx.input(0).shape()};
      with_elements(ctx, [&]<class T>(const T* x, T* y) {
        const auto scale = parameters<T>(ctx, 1, c.count);
        const auto bias = parameters<T>(ctx, 2, c.count);
        auto mean = parameters<T>(ctx, 3, c.count);
        auto variance = parameters<T>(ctx, 4, c.count);
        if (training) {
          auto running_mean = mean;
          auto running_variance = variance;
          const auto now = channel_moments(ctx, c, x);
          const auto kept = static_cast<T>(momentum);
          for (std::size_t i = 0; i < now.size(); ++i) {
            mean[i] = now[i].mean;
            variance[i] = now[i].variance;
            running_mean[i] = kept * running_mean[i] + (T{1} - kept) * mean[i];
            running_variance[i] = kept * running_variance[i] + (T{1} - kept) * variance[i];
          }
          const std::array<const std::vector<T>*, 4> given = {&running_mean, &running_variance, &mean,
                                                              &variance};
          for (std::size_t i = 1; i < ctx.output_count() && i <= given.size(); ++i)
            write_numbers(given[i - 1]->data(),
                          ctx.output(i, ctx.input(i % 2 == 1 ? 3 : 4).type(), {c.count}));
        }
        std::vector<T> factors(scale.size());
        std::vector<T> offsets(scale.size());
        for (std::size_t i = 0; i < scale.size(); ++i) {
          factors[i] = scale[i] / std::sqrt(variance[i] + static_cast<T>(epsilon));
          offsets[i] = bias[i] - mean[i] * factors[i];
        }
        ctx.parallel_for(static_cast<std::size_t>(c.batch * c.count), grain_for(c.inner),
                         [&](std::size_t begin, std::size_t end) {
                           for (auto i = begin; i < end; ++i) {
                             const auto at = static_cast<std::int64_t>(i) * c.inner;
                             const auto channel = i % factors.size();
                             affine(x + at, y + at, c.inner, factors[channel], offsets[channel]);
                           }
                         });
      });
    });
  }};
}

// LpNormalization

kernel_entry lp_normalization_kernel() {
  return {[](const kernel_request& r) {
    const auto p = r.op.attributes().get<std::int64_t>("p", 2);
    if (p != 1 && p != 2)
      throw error{errc::unsupported, "a norm of order " + std::to_string(p) + " is not supported"};
    return make_kernel(
        [p, axis_given = r.op.attributes().get<std::int64_t>("axis", -1)](kernel_context& ctx) {
          const auto s = ctx.input(0).shape();
          const auto axis = axis_of(axis_given, s.rank());
          const auto n = s[axis];
          const auto inner = s.product(axis + 1, s.rank());
          with_elements(ctx, [&]<class T>(const T* x, T* y) {
            ctx.parallel_for(static_cast<std::size_t>(s.product(0, axis) * inner), grain_for(2 * n),
                             [&](std::size_t begin, std::size_t end) {
                               for (auto i = static_cast<std::int64_t>(begin);
                                    i < static_cast<std::int64_t>(end); ++i) {
                                 const auto first = i / inner * n * inner + i % inner;
                                 double sum = 0;
                                 for (std::int64_t k = 0; k < n; ++k) {
                                   const auto v = static_cast<double>(x[first + k * inner]);
                                   sum += p == 1 ? std::abs(v) : v * v;
                                 }
                                 const auto norm = static_cast<T>(p == 1 ? sum : std::sqrt(sum));
                                 for (std::int64_t k = 0; k < n; ++k) // a vector of zeros stays one
                                   y[first + k * inner] = norm == T{0} ? T{0} : x[first + k * inner] / norm;
                               }
                             });
          });
        });
  }};
}

} // namespace

void register_normalization(operator_library& lib) {
  lib.add({.name = "LayerNormalization",
           .since_opset = 17,
           .min_inputs = 2,
           .max_inputs = 3,
           .max_outputs = 3,
           .infer = infer_layer_normalization,
           .cost = elementwise_cost(6)},
          layer_normalization_kernel());
  lib.add({.name = "InstanceNormalization",
           .min_inputs = 3,
           .max_inputs = 3,
           .infer = same_as_first,
           .cost = elementwise_cost(6)},
          instance_normalization_kernel());
  lib.add({.name = "BatchNormalization",
           .min_inputs = 5,
           .max_inputs = 5,
           .max_outputs = 5,
           .infer = infer_batch_normalization,
           .cost = elementwise_cost(2)},
          batch_normalization_kernel());
  lib.add({.name = "LpNormalization", .infer = same_as_first, .cost = elementwise_cost(4)},
          lp_normalization_kernel());
}

} // namespace sluice::ops
