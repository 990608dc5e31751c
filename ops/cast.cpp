#include <sluice/ops/operators.hpp>

#include <sluice/devices/kernel_context.hpp>
#include <sluice/ops/convert.hpp>
#include <sluice/ops/inference.hpp>

namespace sluice::ops {

namespace {

element_type by_name(const std::string& name) {
  static constexpr std::pair<std::string_view, element_type> names[] = {
      {"FLOAT", element_type::float32}, {"DOUBLE", element_type::float64}, {"FLOAT16", element_type::float16},
      {"INT8", element_type::int8},     {"INT16", element_type::int16},    {"INT32", element_type::int32},
      {"INT64", element_type::int64},   {"UINT8", element_type::uint8},    {"UINT16", element_type::uint16},
      {"UINT32", element_type::uint32}, {"UINT64", element_type::uint64},  {"BOOL", element_type::boolean},
      {"STRING", element_type::string},
  };
  for (const auto& [known, type] : names)
    if (known == name)
      return type;
  throw error{errc::invalid_graph, "'" + name + "' is no element type"};
}

element_type target(const op_view& op) {
  if (op.opset() < 6) // a name then, a number since
    return by_name(op.attributes().get<std::string>("to"));
  if (!op.attributes().has("to"))
    throw error{errc::invalid_graph, "it does not say to which type"};
  return stated_element(op.attributes(), "to", element_type::undefined);
}

std::unique_ptr<prepared_kernel> cast_kernel(element_type to) {
  return make_kernel([to](kernel_context& ctx) {
    const auto& x = ctx.input(0);
    const auto from = x.type();
    if (from == to)
      return ctx.set_output(0, ctx.input_value(0));
    auto& y = ctx.output(0, to, x.shape());
    const auto piece = [&](std::size_t begin, std::size_t end) {
      convert_elements(static_cast<const std::byte*>(x.raw()) + begin * size_of(from), from,
                       static_cast<std::byte*>(y.raw()) + begin * size_of(to), to, end - begin);
    };
    // A string that is no number throws, which a lent thread must not.
    if (from == element_type::string)
      piece(0, static_cast<std::size_t>(x.elements()));
    else
      ctx.parallel_for(static_cast<std::size_t>(x.elements()), elements_per_chunk, piece);
  });
}

} // namespace

void register_cast(operator_library& lib) {
  for (const int since : {1, 24}) // since 24 to more types
    lib.add({.name = "Cast",
             .since_opset = since,
             .infer =
                 [](const op_view& op) {
                   return std::vector<value_type>{value_type{target(op), op.shape(0)}};
                 },
             .cost = elementwise_cost(),
             .aliases = {{0, 0}}},
            {.prepare = [](const kernel_request& r) { return cast_kernel(target(r.op)); }});
  lib.add({.name = "CastLike",
           .since_opset = 15,
           .min_inputs = 2,
           .max_inputs = 2,
           .infer =
               [](const op_view& op) {
                 return std::vector<value_type>{value_type{op.element(1), op.shape(0)}};
               },
           .cost = elementwise_cost(),
           .aliases = {{0, 0}}},
          {.prepare = [](const kernel_request& r) { return cast_kernel(r.op.element(1)); }});
}

} // namespace sluice::ops
