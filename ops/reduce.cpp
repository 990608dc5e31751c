#include <sluice/ops/elementwise.hpp>
#include <sluice/ops/inference.hpp>
#include <sluice/ops/movement.hpp>
#include <sluice/ops/operators.hpp>
#include <sluice/ops/reduce_loops.hpp>
#include <sluice/ops/small_floats.hpp>

#include <algorithm>
#include <cmath>

namespace sluice::ops {

namespace {

using integer_list = std::vector<std::int64_t>;

/// Some axes of a tensor, walked in row-major order.
class axis_walk {
public:
  void push(std::int64_t extent, std::int64_t stride) {
    extents_.push_back(extent);
    strides_.push_back(stride);
  }

  [[nodiscard]] std::int64_t positions() const {
    std::int64_t n = 1;
    for (const auto extent : extents_)
      n *= extent;
    return n;
  }

  [[nodiscard]] std::int64_t offset_of(std::int64_t position) const {
    if (extents_.empty())
      return 0;
    std::int64_t offset = 0;
    for (auto i = extents_.size() - 1; i > 0; position /= extents_[i--])
      offset += position % extents_[i] * strides_[i];
    return offset + position * strides_[0];
  }

private:
  axis_list extents_;
  axis_list strides_;
};

/// A tensor as its reduction sees it: neighbouring axes that are both kept or both reduced are one.
/// If the last one is reduced, `run` neighbours make one result at a time, otherwise `width` results are made
/// side by side. The reduction is cut in `parts` that are joined in order; all by shape alone, so that the
/// bits do not depend on the number of threads.
struct reduction_plan {
  axis_walk kept; ///< but the last, if it is `width`
  axis_walk reduced;
  std::int64_t width = 1;
  std::int64_t run = 1;
  std::int64_t piece = 1; ///< of the run, taken at once
  std::int64_t pieces = 1;
  std::int64_t steps = 1; ///< rows or pieces that make one result
  std::int64_t parts = 1;

  reduction_plan(const shape& s, const std::vector<bool>& reduce) {
    struct group {
      std::int64_t extent;
      bool reduced;
    };
    boost::container::static_vector<group, shape::max_rank> groups;
    for (std::size_t i = 0; i < s.rank(); ++i) {
      if (s[i] == 1)
        continue;
      if (!groups.empty() && groups.back().reduced == reduce[i])
        groups.back().extent *= s[i];
      else
        groups.push_back({s[i], reduce[i]});
    }
    auto stride = s.elements();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto& g = groups[i];
      stride = g.extent == 0 ? 0 : stride / g.extent;
      const auto last = i + 1 == groups.size();
      if (g.reduced && last)
        run = g.extent;
      else if (g.reduced)
        reduced.push(g.extent, stride);
      else if (last)
        width = g.extent;
      else
        kept.push(g.extent, stride);
    }

    constexpr std::int64_t few = 8;
    constexpr std::int64_t most_parts = 64;
    constexpr std::int64_t part_work = 16 * 1024;
    const auto rows = reduced.positions();
    const auto results = kept.positions() * width;
    if (kept.positions() * ((width + strip - 1) / strip) < few && results > 0)
      parts = std::clamp<std::int64_t>(rows * run * width / part_work, 1, most_parts);
    pieces = rows > 0 && rows < parts && run > 1 ? (parts + rows - 1) / rows : 1;
    piece = std::max<std::int64_t>(1, (run + pieces - 1) / pieces);
    pieces = run == 0 ? 0 : (run + piece - 1) / piece;
    steps = rows * pieces;
    parts = std::max<std::int64_t>(1, std::min(parts, steps));
  }

  static constexpr std::int64_t strip = 512; ///< results made side by side at once
};

/// One result, of steps [first, last) from `base` on.
template <class Reduction, class T>
T reduce_rows(const reduction_plan& p, const T* base, std::int64_t first, std::int64_t last, T shift) {
  if (first == 0 && last == 1 && p.pieces == 1)
    return Reduction::row(base, static_cast<std::size_t>(p.run), shift);
  auto result = Reduction::start;
  for (auto step = first; step < last; ++step) {
    const auto begin = step % p.pieces * p.piece;
    const auto n = std::min(p.piece, p.run - begin);
    const auto partial = Reduction::row(base + p.reduced.offset_of(step / p.pieces) + begin,
                                        static_cast<std::size_t>(n), shift);
    result = step == first ? partial : Reduction::join(result, partial);
  }
  return result;
}

/// Takes rows into `n` results. Long columns go in blocks, so that rounding errors do not pile up.
template <class Reduction, class T>
void reduce_columns(const reduction_plan& p, const T* base, std::int64_t first, std::int64_t last,
                    const T* shifts, T* results, std::int64_t n) {
  constexpr std::int64_t block = 128;
  std::fill_n(results, n, Reduction::start);
  std::array<T, reduction_plan::strip> under_way;
  for (auto begin = first; begin < last; begin += block) {
    const auto end = std::min(last, begin + block);
    const auto whole = begin == first && end == last;
    auto* into = whole ? results : under_way.data();
    if (!whole)
      std::fill_n(into, n, Reduction::start);
    for (auto step = begin; step < end; ++step)
      Reduction::column(into, base + p.reduced.offset_of(step), static_cast<std::size_t>(n), shifts);
    if (!whole)
      for (std::int64_t i = 0; i < n; ++i)
        results[i] = Reduction::join(results[i], under_way[static_cast<std::size_t>(i)]);
  }
}

/// Reduces `x` to one result for each position of the axes that are kept. `shifts`, if any, has one each.
template <class Reduction, class T>
void reduce(const kernel_context& ctx, const reduction_plan& p, const T* x, const T* shifts, T* results) {
  const auto outer = p.kept.positions();
  const auto strips = (p.width + reduction_plan::strip - 1) / reduction_plan::strip;
  const auto count = outer * p.width;
  std::vector<T> partials(p.parts > 1 ? static_cast<std::size_t>(p.parts * count) : 0);
  auto* target = p.parts > 1 ? partials.data() : results;
  const auto steps_per_part = (p.steps + p.parts - 1) / p.parts;
  const auto work = steps_per_part * p.piece * std::min(p.width, reduction_plan::strip);
  ctx.parallel_for(static_cast<std::size_t>(p.parts * outer * strips), grain_for(work),
                   [&](std::size_t begin, std::size_t end) {
                     for (auto unit = static_cast<std::int64_t>(begin); unit < static_cast<std::int64_t>(end);
                          ++unit) {
                       const auto at = unit % strips * reduction_plan::strip;
                       const auto row = unit / strips % outer;
                       const auto part = unit / strips / outer;
                       const auto first = part * steps_per_part;
                       const auto last = std::min(p.steps, first + steps_per_part);
                       const auto result = row * p.width + at;
                       const auto* base = x + p.kept.offset_of(row) + at;
                       auto* to = target + part * count + result;
                       if (p.width == 1 && p.run != 1)
                         *to = reduce_rows<Reduction>(p, base, first, last, shifts ? shifts[result] : T{});
                       else
                         reduce_columns<Reduction>(p, base, first, last, shifts ? shifts + result : nullptr,
                                                   to, std::min(reduction_plan::strip, p.width - at));
                     }
                   });
  if (p.parts > 1)
    for (std::int64_t i = 0; i < count; ++i) {
      auto result = partials[static_cast<std::size_t>(i)];
      for (std::int64_t part = 1; part < p.parts; ++part)
        result = Reduction::join(result, partials[static_cast<std::size_t>(part * count + i)]);
      results[i] = result;
    }
}

enum class reducer { sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp, sum_square };

template <class T>
T in_double(T x, double (*f)(double)) {
  return static_cast<T>(f(static_cast<double>(x)));
}

template <class T>
void log_sum_exp(const kernel_context& ctx, const reduction_plan& p, const T* x, T* y, std::int64_t n) {
  std::vector<T> shifts(static_cast<std::size_t>(n));
  reduce<take_largest<T>>(ctx, p, x, static_cast<const T*>(nullptr), shifts.data());
  for (auto& shift : shifts)
    shift = std::isfinite(shift) ? shift : T{0}; // infinity minus infinity would be no number
  reduce<add_exponentials<T>>(ctx, p, x, shifts.data(), y);
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = std::log(y[i]) + shifts[static_cast<std::size_t>(i)];
}

/// Integers: by way of doubles.
template <class T>
void integer_log_sum_exp(const kernel_context& ctx, const reduction_plan& p, const T* x,
                         std::int64_t elements, T* y, std::int64_t n) {
  const std::vector<double> numbers(x, x + elements);
  std::vector<double> results(static_cast<std::size_t>(n));
  log_sum_exp(ctx, p, numbers.data(), results.data(), n);
  std::transform(results.begin(), results.end(), y, [](double d) { return static_cast<T>(d); });
}

/// Reduces `elements` elements to the `n` of `y`.
template <class T>
void reduce_by(reducer how, const kernel_context& ctx, const reduction_plan& p, const T* x,
               std::int64_t elements, T* y, std::int64_t n) {
  const auto run = [&]<class Reduction>(std::type_identity<Reduction>) {
    reduce<Reduction>(ctx, p, x, static_cast<const T*>(nullptr), y);
  };
  const auto finish = [&](auto f) { std::transform(y, y + n, y, f); };
  switch (how) {
  case reducer::sum:
    return run(std::type_identity<add_up<T>>{});
  case reducer::mean:
    run(std::type_identity<add_up<T>>{});
    if (const auto count = n > 0 ? elements / n : 0; count > 0 || std::is_floating_point_v<T>)
      finish([count](T sum) { return static_cast<T>(sum / static_cast<T>(count)); });
    return;
  case reducer::max:
    return run(std::type_identity<take_largest<T>>{});
  case reducer::min:
    return run(std::type_identity<take_smallest<T>>{});
  case reducer::prod:
    return run(std::type_identity<multiply<T>>{});
  case reducer::l1:
    return run(std::type_identity<add_absolutes<T>>{});
  case reducer::sum_square:
    return run(std::type_identity<add_squares<T>>{});
  case reducer::l2:
    run(std::type_identity<add_squares<T>>{});
    return finish([](T sum) { return in_double(sum, std::sqrt); });
  case reducer::log_sum:
    run(std::type_identity<add_up<T>>{});
    return finish([](T sum) { return in_double(sum, std::log); });
  case reducer::log_sum_exp:
    if constexpr (std::is_floating_point_v<T>)
      return log_sum_exp(ctx, p, x, y, n);
    else
      return integer_log_sum_exp(ctx, p, x, elements, y, n);
  }
}

template <class Small>
void reduce_small_floats(reducer how, const kernel_context& ctx, const reduction_plan& p, const tensor& in,
                         tensor& out) {
  const auto floats = tensor::make(element_type::float32, in.shape(), ctx.allocator());
  const auto results = tensor::make(element_type::float32, out.shape(), ctx.allocator());
  auto* x = floats->data<float>().data();
  auto* y = results->data<float>().data();
  to_floats(in.data<Small>().data(), x, static_cast<std::size_t>(in.elements()));
  reduce_by(how, ctx, p, x, in.elements(), y, out.elements());
  from_floats(y, out.data<Small>().data(), static_cast<std::size_t>(out.elements()));
}

using common_types =
    type_list<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float16, bfloat16>;
using extreme_types = decltype(common_types{} + type_list<std::int8_t, std::uint8_t>{});

void reduce_tensor(reducer how, const kernel_context& ctx, const reduction_plan& p, const tensor& in,
                   tensor& out) {
  visit_among(extreme_types{}, in.type(), [&]<class T>(std::type_identity<T>) {
    if constexpr (is_small_float<T>) {
      reduce_small_floats<T>(how, ctx, p, in, out);
    } else {
      const auto* x = in.data<T>().data();
      auto* y = out.data<T>().data();
      if constexpr (sizeof(T) > 1)
        reduce_by(how, ctx, p, x, in.elements(), y, out.elements());
      else if (how == reducer::max)
        reduce<take_largest<T>>(ctx, p, x, static_cast<const T*>(nullptr), y);
      else if (how == reducer::min)
        reduce<take_smallest<T>>(ctx, p, x, static_cast<const T*>(nullptr), y);
      else
        refuse_element(in.type());
    }
  });
}

/// Which of `rank` axes to reduce: those named, or all.
std::vector<bool> reduced_axes(const integer_list& axes, std::size_t rank) {
  std::vector<bool> reduce(rank, axes.empty());
  for (const auto axis : axes)
    reduce[axis_of(axis, rank)] = true;
  return reduce;
}

std::vector<value_type> infer_reduction(const op_view& op) {
  const auto& s = op.shape(0);
  const auto keep = op.attributes().get<std::int64_t>("keepdims", 1) != 0;
  const auto axes = integers(op, 1, "axes");
  if (!s.has_rank())
    return {{op.element(0), {}}};
  if (op.has_input(1) && !axes)
    return {{op.element(0), keep ? of_rank(s.rank()) : partial_shape{}}};
  if ((!axes || axes->empty()) && op.attributes().get<std::int64_t>("noop_with_empty_axes", 0) != 0)
    return {op.input(0)};
  const auto reduce = reduced_axes(axes.value_or(integer_list{}), s.rank());
  std::vector<dim> dims;
  for (std::size_t i = 0; i < s.rank(); ++i)
    if (!reduce[i] || keep)
      dims.push_back(reduce[i] ? dim{1} : s[i]);
  return {{op.element(0), partial_shape{std::move(dims)}}};
}

kernel_entry reduction_kernel(reducer how) {
  return {[how](const kernel_request& r) {
    const auto& a = r.op.attributes();
    return make_kernel(
        [how, given = a.get<integer_list>("axes", {}), keep = a.get<std::int64_t>("keepdims", 1) != 0,
         no_axes_no_reduction = a.get<std::int64_t>("noop_with_empty_axes", 0) != 0](kernel_context& ctx) {
          const auto& in = ctx.input(0);
          const auto& s = in.shape();
          const auto axes = integers_of(ctx, 1, given);
          if (axes.empty() && no_axes_no_reduction)
            return ctx.set_output(0, ctx.input_value(0));
          const auto reduce = reduced_axes(axes, s.rank());
          axis_list extents;
          for (std::size_t i = 0; i < s.rank(); ++i)
            if (!reduce[i] || keep)
              extents.push_back(reduce[i] ? 1 : s[i]);
          reduce_tensor(how, ctx, {s, reduce}, in, ctx.output(0, in.type(), shape_of(extents)));
        });
  }};
}

} // namespace

void register_reduce(operator_library& lib) {
  struct entry {
    const char* name;
    reducer how;
    double work;
  };
  for (const auto& e : {entry{"ReduceSum", reducer::sum, 1}, entry{"ReduceMean", reducer::mean, 1},
                        entry{"ReduceMax", reducer::max, 1}, entry{"ReduceMin", reducer::min, 1},
                        entry{"ReduceProd", reducer::prod, 2}, entry{"ReduceL1", reducer::l1, 2},
                        entry{"ReduceL2", reducer::l2, 2}, entry{"ReduceLogSum", reducer::log_sum, 1},
                        entry{"ReduceLogSumExp", reducer::log_sum_exp, 12},
                        entry{"ReduceSumSquare", reducer::sum_square, 2}}) {
    const auto add = [&](int since, std::size_t inputs) {
      lib.add({.name = e.name,
               .since_opset = since,
               .max_inputs = inputs,
               .infer = infer_reduction,
               .cost = reduction_cost(e.work),
               .aliases = {{0, 0}}}, // without axes it may pass its input on
              reduction_kernel(e.how));
    };
    add(1, 1);
    add(e.how == reducer::sum ? 13 : 18, 2); // the axes become an input
  }
}

} // namespace sluice::ops
