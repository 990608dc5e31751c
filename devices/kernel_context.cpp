#include <sluice/devices/kernel_context.hpp>

#include <sluice/graph/tensor_block.hpp>

namespace sluice {

tensor& kernel_context::place_output(std::size_t i, element_type type, const shape& s, layout l,
                                     std::size_t bytes) {
  const auto& place = r_.places[i];
  auto t = tensor::make_at(place.header, place.elements, type, s, l, bytes);
  auto& placed = *t;
  r_.outputs[i] = std::move(t);
  return placed;
}

tensor& kernel_context::output(std::size_t i, element_type type, const shape& s) {
  if (!r_.outputs[i].empty())
    return preset(i, type, s);
  if (!r_.places.empty() && type != element_type::string)
    if (const auto bytes = tensor_bytes(type, s); has_place(i, bytes))
      return place_output(i, type, s, layout::plain, bytes);
  for (const auto& pair : r_.in_place) {
    if (pair.output != i || !r_.inputs[pair.input].unique())
      continue;
    const auto& candidate = r_.inputs[pair.input].tensor();
    if (candidate.type() != type || candidate.shape() != s || !candidate.owns_elements() ||
        candidate.is_placed())
      continue;
    // The slot's reference is the only one and stays in place until the kernel is done with the input.
    auto& reused = const_cast<tensor&>(candidate);
    r_.outputs[i] = r_.inputs[pair.input];
    return reused;
  }
  auto t = tensor::make(type, s, r_.allocate_from);
  auto& fresh = *t;
  r_.outputs[i] = std::move(t);
  return fresh;
}

tensor& kernel_context::preset(std::size_t i, element_type type, const shape& s) {
  const auto& made = r_.outputs[i].tensor();
  if (made.type() != type || made.shape() != s)
    throw error{errc::kernel_failed, "its output " + std::to_string(i) + " was planned as " +
                                         describe(r_.outputs[i]) + ", not " + std::string{to_string(type)} +
                                         to_string(s)};
  return const_cast<tensor&>(made); // nobody else reads it until the execution is over
}

tensor& kernel_context::output_laid_out(std::size_t i, element_type type, const shape& s, layout l,
                                        std::size_t bytes) {
  if (has_place(i, bytes))
    return place_output(i, type, s, l, bytes);
  auto t = tensor::make_laid_out(type, s, l, bytes, r_.allocate_from);
  auto& fresh = *t;
  r_.outputs[i] = std::move(t);
  return fresh;
}

std::shared_ptr<completion_token> kernel_context::suspend() {
  throw error{errc::unsupported, "this execution cannot wait"};
}

} // namespace sluice
