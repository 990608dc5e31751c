#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice::ops {

namespace {

// Einsum

/// The parsed equation. Axes have labels: letters, and digits for the axes of an ellipsis, 9 for its last.
struct equation {
  std::vector<std::string> operands;
  std::string result;

  /// `text` for operands of the given ranks. Throws for an equation that means nothing.
  equation(const std::string& text, std::span<const std::size_t> ranks) {
    std::string clean;
    std::copy_if(text.begin(), text.end(), std::back_inserter(clean), [](char c) { return c != ' '; });
    const auto arrow = clean.find("->");
    std::size_t from = 0;
    const auto terms = clean.substr(0, arrow);
    for (const auto rank : ranks) {
      if (from > terms.size())
        refuse(text);
      const auto comma = std::min(terms.find(',', from), terms.size());
      operands.push_back(labels(terms.substr(from, comma - from), rank, text));
      from = comma + 1;
    }
    if (from <= terms.size()) // terms without an operand are left
      refuse(text);
    if (arrow == std::string::npos)
      result = implied();
    else
      result = labels(clean.substr(arrow + 2), ellipsis_ + count_letters(clean.substr(arrow + 2)), text);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto named = std::any_of(operands.begin(), operands.end(), [&](const std::string& o) {
        return o.find(result[i]) != std::string::npos;
      });
      if (!named || result.find(result[i], i + 1) != std::string::npos)
        refuse(text);
    }
  }

private:
  [[noreturn]] static void refuse(const std::string& text) {
    throw error{errc::invalid_graph, "the equation '" + text + "' does not fit its operands"};
  }

  static std::size_t count_letters(const std::string& term) {
    return static_cast<std::size_t>(std::count_if(term.begin(), term.end(), [](char c) { return c != '.'; }));
  }

  std::string labels(std::string term, std::size_t rank, const std::string& text) {
    const auto dots = term.find("...");
    const auto letters = count_letters(term);
    if (dots == std::string::npos ? letters != rank : letters > rank || rank - letters > 10)
      refuse(text);
    if (dots != std::string::npos) {
      ellipsis_ = std::max(ellipsis_, rank - letters);
      std::string digits;
      for (auto i = rank - letters; i > 0; --i)
        digits += static_cast<char>('9' - static_cast<char>(i - 1));
      term.replace(dots, 3, digits);
    }
    const auto known = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    if (!std::all_of(term.begin(), term.end(), known))
      refuse(text);
    return term;
  }

  /// The axes of the ellipsis, then the letters that stand once, in alphabetical order.
  std::string implied() const {
    std::map<char, int> counts;
    for (const auto& o : operands)
      for (const auto c : o)
        ++counts[c];
    std::string once;
    for (const auto& [label, count] : counts)
      if (count == 1 || label <= '9')
        once += label;
    return once;
  }

  std::size_t ellipsis_ = 0; ///< most axes that an ellipsis stands for
};

std::vector<value_type> infer_einsum(const op_view& op) {
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (!op.has_input(i) || !op.shape(i).has_rank())
      return {{op.element(0), {}}};
    ranks.push_back(op.shape(i).rank());
  }
  const equation e{op.attributes().get<std::string>("equation"), ranks};
  std::map<char, partial_shape> extents;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    for (std::size_t a = 0; a < ranks[i]; ++a) {
      const partial_shape extent{op.shape(i)[a]};
      const auto [entry, fresh] = extents.try_emplace(e.operands[i][a], extent);
      if (!fresh)
        entry->second = broadcast(entry->second, extent);
    }
  std::vector<dim> dims;
  for (const auto label : e.result)
    dims.push_back(extents.at(label)[0]);
  return {{op.element(0), partial_shape{std::move(dims)}}};
}

/// Axes with a stride for each operand.
struct label_axes {
  std::vector<std::int64_t> extents;
  std::vector<std::vector<std::int64_t>> strides; ///< by axis, then operand

  [[nodiscard]] std::int64_t positions() const {
    std::int64_t n = 1;
    for (const auto extent : extents)
      n *= extent;
    return n;
  }

  void add_offsets(std::int64_t position, std::vector<std::int64_t>& offsets) const {
    for (auto i = extents.size(); i-- > 0; position /= extents[i])
      for (std::size_t o = 0; o < offsets.size(); ++o)
        offsets[o] += position % extents[i] * strides[i][o];
  }
};

template <class T>
void contract(const kernel_context& ctx, const label_axes& kept, const label_axes& summed, T* y) {
  std::vector<const T*> operands;
  for (std::size_t i = 0; i < ctx.input_count(); ++i)
    operands.push_back(ctx.input(i).data<T>().data());
  // The innermost summed axis is a plain loop.
  auto outer = summed;
  std::int64_t inner = 1;
  std::vector<std::int64_t> steps(operands.size());
  if (!outer.extents.empty()) {
    inner = outer.extents.back();
    steps = outer.strides.back();
    outer.extents.pop_back();
    outer.strides.pop_back();
  }
  const auto rounds = outer.positions();
  ctx.parallel_for(static_cast<std::size_t>(kept.positions()), grain_for(rounds * inner),
                   [&](std::size_t begin, std::size_t end) {
                     std::vector<std::int64_t> base(operands.size());
                     std::vector<std::int64_t> offsets(operands.size());
                     for (auto i = begin; i < end; ++i) {
                       std::fill(base.begin(), base.end(), 0);
                       kept.add_offsets(static_cast<std::int64_t>(i), base);
                       computed<T> sum{0};
                       for (std::int64_t round = 0; round < rounds; ++round) {
                         offsets = base;
                         outer.add_offsets(round, offsets);
                         for (std::int64_t k = 0; k < inner; ++k) {
                           computed<T> product{1};
                           for (std::size_t o = 0; o < operands.size(); ++o)
                             product *= static_cast<computed<T>>(operands[o][offsets[o] + k * steps[o]]);
                           sum += product;
                         }
                       }
                       y[i] = static_cast<T>(sum);
                     }
                   });
}

kernel_entry einsum_kernel() {
  return {[](const kernel_request& r) {
    return make_kernel([text = r.op.attributes().get<std::string>("equation")](kernel_context& ctx) {
      std::vector<std::size_t> ranks;
      for (std::size_t i = 0; i < ctx.input_count(); ++i) {
        if (ctx.input(i).type() != ctx.input(0).type())
          throw error{errc::kernel_failed, "operands of different types"};
        ranks.push_back(ctx.input(i).shape().rank());
      }
      const equation e{text, ranks};
      std::map<char, std::int64_t> extents;
      std::map<char, std::vector<std::int64_t>> strides;
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        const auto& s = ctx.input(i).shape();
        const auto by_axis = strides_of(s);
        for (std::size_t a = 0; a < ranks[i]; ++a) {
          const auto label = e.operands[i][a];
          const auto [entry, fresh] = extents.try_emplace(label, s[a]);
          if (!fresh && entry->second != s[a] && entry->second != 1 && s[a] != 1)
            throw error{errc::kernel_failed,
                        std::string{"axes with the label '"} + label + "' differ in extent"};
          entry->second = entry->second == 1 ? s[a] : entry->second;
          auto& by_operand = strides.try_emplace(label, ranks.size()).first->second;
          by_operand[i] += s[a] == 1 ? 0 : by_axis[a];
        }
      }
      label_axes kept;
      label_axes summed;
      for (const auto label : e.result) {
        kept.extents.push_back(extents[label]);
        kept.strides.push_back(strides[label]);
      }
      for (const auto& [label, extent] : extents)
        if (e.result.find(label) == std::string::npos) {
          summed.extents.push_back(extent);
          summed.strides.push_back(strides[label]);
        }
      auto& out = ctx.output(0, ctx.input(0).type(), shape{kept.extents});
      visit_among(type_list<float, double, float16, bfloat16, std::int32_t, std::int64_t, std::uint32_t,
                            std::uint64_t>{},
                  out.type(), [&]<class T>(std::type_identity<T>) {
                    contract<T>(ctx, kept, summed, out.data<T>().data());
                  });
    });
  }};
}

// Det

std::vector<value_type> infer_det(const op_view& op) {
  const auto& s = op.shape(0);
  if (!s.has_rank())
    return {{op.element(0), {}}};
  if (s.rank() < 2)
    throw error{errc::invalid_graph, "a determinant needs matrices, not shape " + to_string(s)};
  return {{op.element(0), partial_shape{std::vector<dim>{s.dims().begin(), s.dims().end() - 2}}}};
}

/// By elimination with row pivots; destroys the n by n matrix.
double determinant(std::vector<double>& m, std::size_t n) {
  double product = 1;
  for (std::size_t k = 0; k < n; ++k) {
    auto pivot = k;
    for (auto i = k + 1; i < n; ++i)
      if (std::abs(m[i * n + k]) > std::abs(m[pivot * n + k]))
        pivot = i;
    if (m[pivot * n + k] == 0)
      return 0;
    if (pivot != k) {
      std::swap_ranges(&m[k * n], &m[k * n] + n, &m[pivot * n]);
      product = -product;
    }
    product *= m[k * n + k];
    for (auto i = k + 1; i < n; ++i) {
      const auto factor = m[i * n + k] / m[k * n + k];
      for (auto j = k + 1; j < n; ++j)
        m[i * n + j] -= factor * m[k * n + j];
    }
  }
  return product;
}

void det(kernel_context& ctx) {
  const auto& in = ctx.input(0);
  const auto& s = in.shape();
  if (s.rank() < 2 || s[s.rank() - 1] != s[s.rank() - 2])
    throw error{errc::kernel_failed, "a determinant needs square matrices, not shape " + to_string(s)};
  const auto n = static_cast<std::size_t>(s[s.rank() - 1]);
  auto& out = ctx.output(0, in.type(), shape{s.dims().first(s.rank() - 2)});
  visit_among(type_list<float, double>{}, in.type(), [&]<class T>(std::type_identity<T>) {
    const auto x = in.data<T>();
    auto y = out.data<T>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto matrix = x.subspan(i * n * n, n * n);
      std::vector<double> work{matrix.begin(), matrix.end()};
      y[i] = static_cast<T>(determinant(work, n));
    }
  });
}

} // namespace

void register_algebra(operator_library& lib) {
  lib.add({.name = "Einsum", .since_opset = 12, .max_inputs = op_schema::variadic, .infer = infer_einsum},
          einsum_kernel());
  lib.add({.name = "Det", .since_opset = 11, .infer = infer_det}, plain_kernel(det));
}

} // namespace sluice::ops
