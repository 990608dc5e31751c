#include <sluice/actors/pending_firing.hpp>

#include <sluice/actors/firing_loop.hpp>
#include <sluice/actors/graph_runtime.hpp>
#include <sluice/actors/next_frames.hpp>
#include <sluice/actors/node_actor.hpp>
#include <sluice/actors/step_execution.hpp>

namespace sluice {

pending_firing::pending_firing(frame& f, const executable_step& s)
  : frame_(f), step_(s), outputs_(s.outputs) {
  frame_.activities.fetch_add(1, std::memory_order_relaxed);
}

pending_firing::~pending_firing() {
  if (completed_)
    return;
  // Somebody dropped the token. Another one takes its activity over, and fails.
  const auto heir = std::make_shared<pending_firing>(frame_, step_);
  frame_.activities.fetch_sub(1, std::memory_order_relaxed);
  heir->fail(std::make_exception_ptr(
      error{errc::kernel_failed, "node " + title(*step_.cell->node) + " was never completed"}));
}

bool pending_firing::withdraw() noexcept {
  if (completed_.exchange(true))
    return false;
  frame_.activities.fetch_sub(1, std::memory_order_relaxed); // the caller's own remains
  return true;
}

bool pending_firing::take(std::span<value> outputs) noexcept {
  if (completed_.exchange(true))
    return false;
  std::move(outputs.begin(),
            outputs.begin() + static_cast<std::ptrdiff_t>(std::min(outputs.size(), outputs_.size())),
            outputs_.begin());
  succeeded_ = true;
  return true;
}

bool pending_firing::take(std::exception_ptr why) noexcept {
  if (completed_.exchange(true))
    return false;
  frame_.fail(step_.index, named_failure(*step_.cell->node, std::move(why)));
  return true;
}

void pending_firing::succeed(std::span<value> outputs) {
  if (take(outputs))
    complete();
}

void pending_firing::fail(std::exception_ptr why) {
  if (take(std::move(why)))
    complete();
}

void pending_firing::succeed_here(std::span<value> outputs, worker& here) noexcept {
  if (take(outputs))
    complete_here(here);
}

void pending_firing::fail_here(std::exception_ptr why, worker& here) noexcept {
  if (take(std::move(why)))
    complete_here(here);
}

void pending_firing::complete() {
  keep_ = shared_from_this();
  // The frame, its session and the pool may be gone before submit() returns.
  const auto threads = frame_.runtime.services().threads;
  threads->submit(*this);
}

void pending_firing::complete_here(worker& here) noexcept {
  if (frame_.runtime.services().stepped)
    complete();
  else
    deliver(here);
}

void pending_firing::run(worker& here) noexcept {
  const auto keep = std::move(keep_);
  const next_frames::turn turn{here};
  deliver(here);
}

void pending_firing::deliver(worker& here) noexcept {
  {
    firing_loop loop{here, frame_};
    if (succeeded_) {
      try {
        if (step_.function)
          check_types(frame_, step_, outputs_);
        check_firing(frame_, step_, outputs_);
      } catch (...) {
        frame_.fail(step_.index, named_failure(*step_.cell->node, std::current_exception()));
        for (auto& v : outputs_)
          v.reset();
      }
    }
    finish_firing(frame_, step_, outputs_, loop);
    loop.drain();
  }
  frame_.release(here);
}

namespace {

struct blocking_call final : job {
  blocking_call(std::shared_ptr<pending_firing> t, const graph_function& f, std::span<value> given,
                std::size_t outputs)
    : token(std::move(t)), function(f),
      inputs(std::make_move_iterator(given.begin()), std::make_move_iterator(given.end())), results(outputs) {
  }

  void run(worker&) noexcept override {
    try {
      function.call(inputs, results);
      inputs.clear();
      token->succeed(results);
    } catch (...) {
      inputs.clear();
      token->fail(std::current_exception());
    }
    delete this;
  }

  const std::shared_ptr<pending_firing> token;
  const graph_function& function;
  std::vector<value> inputs;
  std::vector<value> results;
};

} // namespace

void fire_blocking(frame& f, const executable_step& s, std::span<value> inputs) {
  f.share();
  auto token = std::make_shared<pending_firing>(f, s);
  f.runtime.services().blocking->submit(*new blocking_call{std::move(token), *s.function, inputs, s.outputs});
}

} // namespace sluice
