#include <sluice/actors/device_firing.hpp>

#include <sluice/actors/device_piece.hpp>
#include <sluice/actors/graph_runtime.hpp>
#include <sluice/actors/next_frames.hpp>
#include <sluice/actors/pending_firing.hpp>
#include <sluice/actors/session_devices.hpp>
#include <sluice/actors/step_execution.hpp>

#include <algorithm>

namespace sluice {

namespace {

using way = session_devices::way;

/// A piece of work in flight, as its frame sees it: an activity.
class enqueued_piece final : public job {
public:
  enqueued_piece(frame& f, const executable_step& s) : frame_(f), step_(s) {}

  /// Follows the piece until its event is done, and deletes itself then.
  static void follow(std::unique_ptr<enqueued_piece> p, const event_ptr& e) {
    p->frame_.activities.fetch_add(1, std::memory_order_relaxed);
    p->event_ = e;
    e->when_done([piece = p.release()] { piece->over(); });
  }

  void run(worker& here) noexcept override {
    const next_frames::turn turn{here};
    auto& f = frame_;
    delete this;
    f.release(here);
  }

private:
  /// On a thread of the device.
  void over() noexcept {
    if (auto why = event_->failure())
      frame_.fail(step_.index, named_failure(*step_.cell->node, std::move(why)));
    auto left = frame_.activities.load(std::memory_order_relaxed);
    while (left > 1) // as frame::release(), where others are left
      if (frame_.activities.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel,
                                                  std::memory_order_relaxed))
        return delete this;
    // The frame, its session and the pool may be gone before submit() returns.
    const auto threads = frame_.runtime.services().threads;
    threads->submit(*this);
  }

  frame& frame_;
  const executable_step& step_;
  event_ptr event_;
};

shape shape_of(const value_type& t) {
  return *t.shape().to_shape();
}

/// The events of values that are not known to be there.
void wait_for(std::span<const value> inputs, std::vector<event_ptr>& after) {
  for (const auto& v : inputs)
    if (const auto* where = residence_of(v); where && !(where->ready()->done() && !where->ready()->failure()))
      if (std::find(after.begin(), after.end(), where->ready()) == after.end())
        after.push_back(where->ready());
}

/// The frame's arena on device `d`, made when it is first needed.
intrusive_ptr<device_block> arena_of(frame& f, std::uint32_t d) {
  const std::lock_guard lock{f.arenas_mutex};
  auto& arena = f.arenas[d];
  if (!arena)
    arena = new device_block{f.accounts[d], f.plan->source->device_arenas[d]};
  return arena;
}

/// An output of a step on an accelerator, in its place.
device_tensor make_output(frame& f, const executable_step& s, const device& home, std::size_t i) {
  const auto& planned = *s.planned;
  const auto& type = planned.output_types[i];
  const auto extents = shape_of(type);
  if (i < planned.places.size() && planned.places[i].bytes > 0)
    return make_on_device(home, arena_of(f, planned.device), planned.places[i].elements, type.element(),
                          extents);
  return make_on_device(home, *f.accounts[planned.device], type.element(), extents);
}

value make_scratch(frame& f, const executable_step& s, const device& home) {
  const auto bytes = static_cast<std::int64_t>(s.kernel->traits().scratch_bytes);
  if (bytes == 0)
    return {};
  const auto d = s.planned->device;
  return s.planned->scratch_at != plan_step::no_place
             ? make_on_device(home, arena_of(f, d), s.planned->scratch_at, element_type::uint8, {bytes})
                   .content
             : make_on_device(home, *f.accounts[d], element_type::uint8, {bytes}).content;
}

/// A copy of `from` to `to`, of the same type, which nobody reads yet.
device_copy copy_of(const value& from, const value& to, copy_kind kind) {
  device_copy c;
  c.kind = kind;
  c.to = const_cast<void*>(to.tensor().raw());
  c.from = from.tensor().raw();
  c.bytes = from.tensor().bytes();
  c.to_owner = to;
  c.from_owner = from;
  wait_for({&from, 1}, c.after);
  return c;
}

void enqueue_kernel(frame& f, const executable_step& s, std::span<value> inputs, std::span<value> outputs) {
  const auto& planned = *s.planned;
  const auto& devices = *f.runtime.services().devices;
  auto& home = *devices.at(planned.device).accelerator;
  std::vector<device_tensor> made;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    made.push_back(make_output(f, s, home, i));
    outputs[i] = made.back().content;
  }
  const auto& services = f.runtime.services();
  const auto piece = std::make_shared<device_piece>(device_piece{.node = *s.cell->node,
                                                                 .kernel = *s.kernel,
                                                                 .types = planned.output_types,
                                                                 .account = f.accounts[planned.device],
                                                                 .inputs = {inputs.begin(), inputs.end()},
                                                                 .outputs = {outputs.begin(), outputs.end()},
                                                                 .scratch = make_scratch(f, s, home),
                                                                 .width = width_of(f, s, *s.kernel),
                                                                 .random_seed = services.seed + f.number});
  device_work work;
  work.run = [piece](const issue_context& here) { piece->run(here); };
  work.estimate = std::chrono::nanoseconds{static_cast<std::int64_t>(planned.estimated_ns.value_or(0))};
  wait_for(inputs, work.after);
  auto follower = std::make_unique<enqueued_piece>(f, s);
  const auto event =
      devices.stream(planned.device, way::compute, f.slot + planned.stream).enqueue(std::move(work));
  for (auto& m : made)
    m.where->set_ready(event);
  enqueued_piece::follow(std::move(follower), event);
}

/// A function may have made something else than it declared.
void check_as_planned(const value& v, const value_type& planned) {
  const auto& t = v.tensor();
  if (t.type() != planned.element() || t.shape() != shape_of(planned) || t.layout() != layout::plain)
    throw error{errc::kernel_failed, "it is to bring " + to_string(planned) + ", and got " + describe(v)};
}

void bring_to_accelerator(frame& f, const executable_step& s, const value& from, value& output) {
  const auto& planned = *s.planned;
  const auto& devices = *f.runtime.services().devices;
  auto& home = *devices.at(planned.device).accelerator;
  check_as_planned(from, planned.output_types[0]);
  const auto made = make_output(f, s, home, 0);
  output = made.content;
  auto copy = copy_of(from, output, planned.from == 0 ? copy_kind::to_device : copy_kind::from_peer);
  if (planned.from != 0)
    copy.peer = devices.at(planned.from).accelerator.get();
  auto follower = std::make_unique<enqueued_piece>(f, s);
  const auto event = devices.stream(planned.device, way::in, f.slot + s.index).copy(std::move(copy));
  made.where->set_ready(event);
  enqueued_piece::follow(std::move(follower), event);
}

void bring_to_host(frame& f, const executable_step& s, const value& from) {
  const auto& t = from.tensor();
  value made = tensor::make(t.type(), t.shape(), *f.memory);
  auto token = std::make_shared<pending_firing>(f, s);
  try {
    const auto event = f.runtime.services()
                           .devices->stream(s.planned->from, way::out, f.slot + s.index)
                           .copy(copy_of(from, made, copy_kind::to_host));
    event->when_done([token, event, made]() mutable {
      if (auto why = event->failure())
        token->fail(std::move(why));
      else
        token->succeed({&made, 1});
    });
  } catch (...) {
    if (token->withdraw())
      throw;
  }
}

/// A firing on the threads of another CPU device.
struct distant_firing final : job {
  distant_firing(std::shared_ptr<pending_firing> t, frame& f, const executable_step& s)
    : token(std::move(t)), owner(f), step(s) {}

  void run(worker& here) noexcept override {
    std::vector<value> outputs(step.outputs);
    try {
      // The firing is not over: its inputs are in the slot.
      const std::span<value> inputs{owner.state(step.state_offset).inputs(), step.inputs};
      const auto how = compute(owner, step, inputs, outputs, here, *owner.accounts[step.planned->device]);
      if (how == completion::done)
        token->succeed(outputs);
      else
        static_cast<void>(token->withdraw()); // the kernel has a token of its own
    } catch (...) {
      token->fail(std::current_exception());
    }
    delete this;
  }

  const std::shared_ptr<pending_firing> token;
  frame& owner;
  const executable_step& step;
};

void fire_on_other_cpu(frame& f, const executable_step& s) {
  const auto& threads = f.runtime.services().devices->at(s.planned->device).threads;
  threads->submit(*new distant_firing{std::make_shared<pending_firing>(f, s), f, s});
}

} // namespace

completion fire_elsewhere(frame& f, const executable_step& s, std::span<value> inputs,
                          std::span<value> outputs) {
  using kind = executable_step::kind;
  f.share();
  const auto& planned = *s.planned;
  if (s.what == kind::on_other_cpu) {
    fire_on_other_cpu(f, s);
    return completion::pending;
  }
  if (s.what == kind::transfer && planned.device == 0) {
    bring_to_host(f, s, inputs[0]);
    return completion::pending;
  }
  if (s.what == kind::transfer)
    bring_to_accelerator(f, s, inputs[0], outputs[0]);
  else if (planned.view)
    outputs[0] = tensor::reshaped(inputs[0], shape_of(planned.output_types[0]));
  else
    enqueue_kernel(f, s, inputs, outputs);
  return completion::done;
}

} // namespace sluice
