#include <sluice/actors/device_piece.hpp>

#include <sluice/actors/step_execution.hpp>
#include <sluice/devices/kernel_context.hpp>

#include <cstring>

namespace sluice {

namespace {

/// A kernel that made a tensor of its own, a view say, where it was to write to `planned`.
void adopt(const value& made, const value& planned, std::size_t output) {
  if (made.body() == planned.body())
    return;
  if (!made.is(value_kind::tensor) || made.tensor().type() != planned.tensor().type() ||
      made.tensor().shape() != planned.tensor().shape() || made.tensor().layout() != layout::plain)
    throw error{errc::kernel_failed, "its output " + std::to_string(output) + " is " + describe(made) +
                                         "; it was planned as " + describe(planned)};
  if (made.tensor().bytes() > 0)
    std::memmove(const_cast<void*>(planned.tensor().raw()), made.tensor().raw(), made.tensor().bytes());
}

} // namespace

void device_piece::run(const issue_context& here) try {
  auto made = outputs;
  kernel_context ctx{{.inputs = inputs,
                      .outputs = made,
                      .output_types = types,
                      .allocate_from = *account,
                      .scratch = scratch.empty()
                                     ? nullptr
                                     : static_cast<std::byte*>(const_cast<void*>(scratch.tensor().raw())),
                      .thread = here.thread,
                      .width = width,
                      .random_seed = random_seed}};
  if (kernel.execute(ctx) != completion::done)
    throw error{errc::unsupported, "its kernel must wait, which an accelerator cannot"};
  for (std::size_t i = 0; i < outputs.size(); ++i)
    adopt(made[i], outputs[i], i);
} catch (...) {
  std::rethrow_exception(named_failure(node, std::current_exception()));
}

} // namespace sluice
