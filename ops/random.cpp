#include <sluice/ops/random.hpp>

#include <sluice/ops/operators.hpp>

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/convert.hpp>
#include <sluice/ops/inference.hpp>

#include <vector>

namespace sluice::ops {

namespace {

/// What seeds a node's stream.
struct seeding {
  std::optional<std::uint32_t> stated;
  std::uint64_t node; ///< from the node's name

  explicit seeding(const kernel_request& r) : node(14695981039346656037u) {
    for (const char c : r.node) // FNV-1a
      node = (node ^ static_cast<unsigned char>(c)) * 1099511628211u;
    for (const auto& [name, content] : r.op.attributes())
      if (name == "seed") { // a float, an integer in Dropout
        if (const auto* integer = std::get_if<std::int64_t>(&content))
          stated = static_cast<std::uint32_t>(*integer);
        else
          stated = to_integer<std::uint32_t>(r.op.attributes().get<float>("seed"));
      }
  }

  [[nodiscard]] random_stream stream(const kernel_context& ctx) const {
    return {stated, ctx.random_seed(), node};
  }
};

/// One draw from a stream, given what the node's attributes say.
struct distribution {
  bool normal;
  double offset; ///< mean, or lower bound
  double scale;  ///< deviation, or width

  [[nodiscard]] double draw(random_stream& from) const {
    return offset + scale * (normal ? from.normal() : from.uniform());
  }
};

distribution normal_of(const attribute_map& a) {
  return {true, a.get("mean", 0.0f), a.get("scale", 1.0f)};
}

distribution uniform_of(const attribute_map& a) {
  const double low = a.get("low", 0.0f);
  return {false, low, a.get("high", 1.0f) - low};
}

template <class T>
void draw_all(tensor& y, const distribution& d, random_stream from) {
  for (auto& element : y.data<T>())
    element = convert<T>(d.draw(from));
}

/// Numbers of a shape that an attribute states, or that an input has.
kernel_entry drawing(distribution (*read)(const attribute_map&), bool like) {
  return {.prepare = [read, like](const kernel_request& r) {
    const auto type =
        stated_element(r.op.attributes(), "dtype", like ? r.op.element(0) : element_type::float32);
    const auto fixed = like ? shape{} : shape{r.op.attributes().get<std::vector<std::int64_t>>("shape")};
    return visit_among(float_types{}, type, [&]<class T>(std::type_identity<T>) {
      return make_kernel([=, d = read(r.op.attributes()), seed = seeding{r}](kernel_context& ctx) {
        const auto s = like ? ctx.input(0).shape() : fixed;
        draw_all<T>(ctx.output(0, type, s), d, seed.stream(ctx));
      });
    });
  }};
}

op_schema drawn(std::string name) {
  return {.name = std::move(name),
          .min_inputs = 0,
          .max_inputs = 0,
          .infer =
              [](const op_view& op) {
                const auto& dims = op.attributes().get<std::vector<std::int64_t>>("shape");
                return std::vector<value_type>{
                    value_type{stated_element(op.attributes(), "dtype", element_type::float32), shape{dims}}};
              },
          .cost = elementwise_cost(20),
          .pure = false};
}

op_schema drawn_like(std::string name, int since) {
  return {.name = std::move(name),
          .since_opset = since,
          .infer =
              [](const op_view& op) {
                return std::vector<value_type>{
                    value_type{stated_element(op.attributes(), "dtype", op.element(0)), op.shape(0)}};
              },
          .cost = elementwise_cost(20),
          .pure = false};
}

/// 1 with the probability that the input says.
std::unique_ptr<prepared_kernel> bernoulli(const kernel_request& r) {
  const auto type = stated_element(r.op.attributes(), "dtype", r.op.element(0));
  return visit_among(float_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
    return visit_among(most_types{}, type, [&]<class Y>(std::type_identity<Y>) {
      return make_kernel([seed = seeding{r}](kernel_context& ctx) {
        auto from = seed.stream(ctx);
        const auto probability = ctx.input(0).template data<T>();
        const auto y = ctx.output(0, element_type_of<Y>, ctx.input(0).shape()).template data<Y>();
        for (std::size_t i = 0; i < y.size(); ++i)
          y[i] = convert<Y>(from.uniform() < convert<double>(probability[i]));
      });
    });
  });
}

/// Classes drawn row by row from unnormalised logarithms of their probabilities.
template <class T, class Y>
void sample_classes(kernel_context& ctx, std::int64_t samples, random_stream from) {
  const auto& s = ctx.input(0).shape();
  if (s.rank() != 2 || s[1] == 0)
    throw error{errc::kernel_failed, "Multinomial takes a matrix of at least one class, not " + to_string(s)};
  const auto classes = static_cast<std::size_t>(s[1]);
  const auto x = ctx.input(0).template data<T>();
  auto* y = ctx.output(0, element_type_of<Y>, shape{s[0], samples}).template data<Y>().data();
  std::vector<double> up_to(classes); // of the probabilities of the classes so far
  for (std::size_t row = 0; row < static_cast<std::size_t>(s[0]); ++row) {
    const auto logits = x.subspan(row * classes, classes);
    double largest = -INFINITY;
    for (const auto l : logits)
      largest = std::max(largest, convert<double>(l));
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c)
      up_to[c] = sum += std::exp(convert<double>(logits[c]) - largest);
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto found = std::upper_bound(up_to.begin(), up_to.end(), from.uniform() * sum);
      *y++ = static_cast<Y>(std::min<std::ptrdiff_t>(found - up_to.begin(), s[1] - 1));
    }
  }
}

std::unique_ptr<prepared_kernel> multinomial(const kernel_request& r) {
  const auto samples = r.op.attributes().get<std::int64_t>("sample_size", 1);
  if (samples < 0)
    throw error{errc::invalid_graph, "sample_size is negative"};
  return visit_among(float_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
    return visit_among(type_list<std::int32_t, std::int64_t>{},
                       stated_element(r.op.attributes(), "dtype", element_type::int32),
                       [&]<class Y>(std::type_identity<Y>) {
                         return make_kernel([samples, seed = seeding{r}](kernel_context& ctx) {
                           sample_classes<T, Y>(ctx, samples, seed.stream(ctx));
                         });
                       });
  });
}

std::vector<value_type> infer_dropout(const op_view& op) {
  const auto mask = op.opset() < 10 ? op.element(0) : element_type::boolean;
  std::vector<value_type> types{op.input(0)};
  if (op.output_count() > 1)
    types.emplace_back(mask, op.shape(0));
  return types;
}

void keep_everything(kernel_context& ctx, bool boolean_mask) {
  const auto& x = ctx.input(0);
  if (ctx.output_count() > 1) {
    auto& mask = ctx.output(1, boolean_mask ? element_type::boolean : x.type(), x.shape());
    visit_among(most_types{}, mask.type(), [&]<class T>(std::type_identity<T>) {
      const auto all = mask.data<T>();
      std::fill(all.begin(), all.end(), convert<T>(true));
    });
  }
  ctx.set_output(0, ctx.input_value(0));
}

template <class T>
void drop(kernel_context& ctx, double ratio, random_stream from) {
  if (!(ratio >= 0 && ratio < 1))
    throw error{errc::kernel_failed, "the ratio to drop is " + std::to_string(ratio) + ", not in [0, 1)"};
  const auto& s = ctx.input(0).shape();
  const auto x = ctx.input(0).data<T>();
  const auto y = ctx.output(0, s).template data<T>();
  auto* mask =
      ctx.output_count() > 1 ? ctx.output(1, element_type::boolean, s).template data<bool>().data() : nullptr;
  const auto scale = static_cast<computed<T>>(1 / (1 - ratio));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool kept = from.uniform() >= ratio;
    y[i] = kept ? static_cast<T>(static_cast<computed<T>>(x[i]) * scale) : T(static_cast<computed<T>>(0));
    if (mask)
      mask[i] = kept;
  }
}

/// The ratio may be of another floating-point type than the data.
double ratio_of(const kernel_context& ctx) {
  if (!ctx.has_input(1))
    return 0.5;
  return visit_among(float_types{}, ctx.input(1).type(), [&]<class T>(std::type_identity<T>) {
    return convert<double>(ctx.input_value(1).template scalar<T>());
  });
}

std::unique_ptr<prepared_kernel> dropout(const kernel_request& r) {
  return visit_among(float_types{}, r.op.element(0), [&]<class T>(std::type_identity<T>) {
    return make_kernel([seed = seeding{r}](kernel_context& ctx) {
      const bool training = ctx.has_input(2) && ctx.input_value(2).template scalar<bool>();
      const auto ratio = training ? ratio_of(ctx) : 0;
      if (ratio == 0)
        keep_everything(ctx, true);
      else
        drop<T>(ctx, ratio, seed.stream(ctx));
    });
  });
}

} // namespace

void register_random(operator_library& lib) {
  lib.add(drawn("RandomNormal"), drawing(normal_of, false));
  lib.add(drawn("RandomUniform"), drawing(uniform_of, false));
  lib.add(drawn_like("RandomNormalLike", 1), drawing(normal_of, true));
  lib.add(drawn_like("RandomUniformLike", 1), drawing(uniform_of, true));
  lib.add(drawn_like("Bernoulli", 15), {.prepare = bernoulli});
  lib.add({.name = "Multinomial",
           .since_opset = 7,
           .infer =
               [](const op_view& op) {
                 dim batch;
                 if (op.shape(0).has_rank() && op.shape(0).rank() == 2)
                   batch = op.shape(0)[0];
                 return std::vector<value_type>{
                     value_type{stated_element(op.attributes(), "dtype", element_type::int32),
                                {batch, op.attributes().get<std::int64_t>("sample_size", 1)}}};
               },
           .pure = false},
          {.prepare = multinomial});

  // Up to opset 10 a model for inference drops nothing; since 12 an input says whether it trains.
  lib.add({.name = "Dropout",
           .max_outputs = 2,
           .infer = infer_dropout,
           .cost = elementwise_cost(),
           .aliases = {{0, 0}}},
          {.prepare = [](const kernel_request& r) {
            return make_kernel(
                [boolean = r.op.opset() >= 10](kernel_context& ctx) { keep_everything(ctx, boolean); });
          }});
  lib.add({.name = "Dropout",
           .since_opset = 12,
           .max_inputs = 3,
           .max_outputs = 2,
           .infer = infer_dropout,
           .cost = elementwise_cost(),
           .aliases = {{0, 0}},
           .pure = false},
          {.prepare = dropout});
}

} // namespace sluice::ops
