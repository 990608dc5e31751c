#include <sluice/actors/step_execution.hpp>

#include <sluice/actors/device_firing.hpp>
#include <sluice/actors/graph_runtime.hpp>
#include <sluice/actors/pending_firing.hpp>
#include <sluice/devices/kernel_context.hpp>

#include <boost/container/small_vector.hpp>

namespace sluice {

namespace {

/// The context of a kernel in the runtime: it may complete later.
class firing_context final : public kernel_context {
public:
  firing_context(const resources& r, frame& f, const executable_step& s)
    : kernel_context(r), frame_(f), step_(s) {}

  std::shared_ptr<completion_token> suspend() override {
    frame_.share();
    if (!token_)
      token_ = std::make_shared<pending_firing>(frame_, step_);
    return token_;
  }

  /// What a kernel's answer comes to: the token decides who ends the firing, this thread or another.
  completion settle(completion how) {
    if (how == completion::pending && !token_)
      throw error{errc::kernel_failed, "its kernel is to complete later, but asked for no token"};
    if (how == completion::done && !withdrawn())
      return completion::pending;
    return how;
  }

  /// True if this thread ends the firing.
  [[nodiscard]] bool withdrawn() noexcept { return !token_ || token_->withdraw(); }

private:
  frame& frame_;
  const executable_step& step_;
  std::shared_ptr<pending_firing> token_;
};

/// Below this cost other threads do not join a firing: reaching them takes longer than they save.
constexpr float wide_from_ns = 50'000;

/// How many threads may join a firing. Width changes no bits where the kernel says so; elsewhere it is fixed.
unsigned width_of(const frame& f, const executable_step& s, const prepared_kernel& kernel) {
  const auto full = f.runtime.services().width;
  const auto small = s.cell->cost_ns.load(std::memory_order_relaxed) < wide_from_ns;
  return small && kernel.traits().width_invariant ? 1 : full;
}

using places = boost::container::small_vector<kernel_context::output_place, 2>;

/// Where the outputs of a step stand in the frame's arena.
places places_in(const frame& f, const plan_step& s) {
  places made(s.places.size());
  auto* const arena = f.memory->arena();
  for (std::size_t i = 0; i < made.size(); ++i)
    if (const auto& p = s.places[i]; p.bytes > 0)
      made[i] = {arena + p.header, arena + p.elements, p.bytes};
  return made;
}

/// The scratch space of one execution: in the frame's arena, or a tensor of its own.
class scratch_space {
public:
  scratch_space(const frame& f, const plan_step& s, const prepared_kernel& kernel, bool planned,
                memory& otherwise_from) {
    const auto bytes = kernel.traits().scratch_bytes;
    if (bytes == 0)
      return;
    if (planned && s.scratch_at != plan_step::no_place) {
      data_ = f.memory->arena() + s.scratch_at;
      return;
    }
    own_ = tensor::make(element_type::uint8, {static_cast<std::int64_t>(bytes)}, otherwise_from);
    data_ = static_cast<std::byte*>(own_->raw());
  }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

private:
  intrusive_ptr<tensor> own_;
  std::byte* data_ = nullptr;
};

completion execute_kernel(frame& f, const executable_step& s, std::span<value> inputs,
                          std::span<value> outputs, worker& here, memory& from) {
  std::shared_ptr<const late_kernel> late;
  if (!s.kernel) {
    const auto& services = f.runtime.services();
    late = s.cell->late->get(*s.cell->node, inputs, s.planned->constants, *services.kernels, services.width);
  }
  const auto& kernel = late ? *late->kernel : *s.kernel;
  const scratch_space scratch{f, *s.planned, kernel, !late, from};
  const auto placed = places_in(f, *s.planned);
  firing_context ctx{{.inputs = inputs,
                      .outputs = outputs,
                      .output_types = late ? late->outputs : s.planned->output_types,
                      .in_place = kernel.traits().in_place,
                      .places = {placed.data(), placed.size()},
                      .allocate_from = from,
                      .scratch = scratch.data(),
                      .thread = &here,
                      .width = width_of(f, s, kernel),
                      .random_seed = f.runtime.services().seed + f.number},
                     f,
                     s};
  try {
    return ctx.settle(kernel.execute(ctx));
  } catch (...) {
    if (!ctx.withdrawn())
      return completion::pending;
    throw;
  }
}

completion call(const frame& f, const executable_step& s, std::span<value> inputs, std::span<value> outputs) {
  s.function->call(inputs, outputs);
  check_types(f, s, outputs);
  return completion::done;
}

} // namespace

completion execute_step(frame& f, const executable_step& s, std::span<value> inputs, std::span<value> outputs,
                        worker& here) {
  using kind = executable_step::kind;
  switch (s.what) {
  case kind::kernel:
    return execute_kernel(f, s, inputs, outputs, here, *f.memory);
  case kind::pure_function:
  case kind::stateful_function:
    return call(f, s, inputs, outputs);
  case kind::blocking_function:
    fire_blocking(f, s, inputs);
    return completion::pending;
  case kind::control_flow:
    return fire_control_flow(f, s, inputs, outputs, here) ? completion::done : completion::pending;
  case kind::on_accelerator:
  case kind::on_other_cpu:
  case kind::transfer:
    return fire_elsewhere(f, s, inputs, outputs);
  }
  return completion::done;
}

completion compute(frame& f, const executable_step& s, std::span<value> inputs, std::span<value> outputs,
                   worker& here, memory& from) {
  return s.function ? call(f, s, inputs, outputs) : execute_kernel(f, s, inputs, outputs, here, from);
}

std::exception_ptr named_failure(const graph::node& n, std::exception_ptr why) {
  try {
    std::rethrow_exception(std::move(why));
  } catch (const error& e) {
    if (std::string_view{e.what()}.find("node ") == 0)
      return std::current_exception();
    return std::make_exception_ptr(error{e.code() == errc::invalid_argument ? errc::kernel_failed : e.code(),
                                         "node " + title(n) + ": " + e.what()});
  } catch (const std::exception& e) {
    return std::make_exception_ptr(error{errc::kernel_failed, "node " + title(n) + ": " + e.what()});
  } catch (...) {
    return std::make_exception_ptr(
        error{errc::kernel_failed, "node " + title(n) + " threw something that is no std::exception"});
  }
}

void check_types(const frame& f, const executable_step& s, std::span<const value> outputs) {
  const auto& n = *s.cell->node;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& declared = f.runtime.source().at_edge(n.outputs[i]).type;
    if (!outputs[i].empty() && !declared.admits(outputs[i]))
      throw error{errc::kernel_failed, "its output " + std::to_string(i) + " is " + describe(outputs[i]) +
                                           "; it is declared as " + to_string(declared)};
  }
}

void check_firing(const frame& f, const executable_step& s, std::span<const value> outputs) {
  if (s.cell->killed.load(std::memory_order_acquire) > f.opened_after_kill)
    throw error{errc::node_down, "its actor was killed"};
  for (const auto& r : std::span{s.routes, s.route_count})
    if (r.group > 0 && outputs[r.output].empty()) {
      if (f.root->marks.load(std::memory_order_relaxed) & frame::stopped)
        return; // control flow ends early then
      throw error{errc::kernel_failed, "it left output " + std::to_string(r.output) + " empty"};
    }
}

} // namespace sluice
