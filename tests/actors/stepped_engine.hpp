#pragma once

#include <sluice/actors/engine.hpp>
#include <sluice/devices/stepped_executor.hpp>
#include <sluice/scheduler/caf_scheduler.hpp>

#include <memory>
#include <stop_token>
#include <thread>

namespace sluice::test {

/// Calls step() on a thread of its own while `f` runs, for what waits until jobs have run.
template <class F>
void while_stepping(stepped_executor& steps, F f) {
  const std::jthread stepper{[&](const std::stop_token& stop) {
    while (!stop.stop_requested())
      if (!steps.step())
        std::this_thread::yield();
  }};
  f();
}

/// An engine whose every delivery is a step, taken in an order that a seed decides; its time stands still
/// until it is advanced.
class stepped_engine {
public:
  explicit stepped_engine(std::uint64_t seed, engine_options options = {})
    : steps_(std::make_shared<stepped_executor>(seed)) {
    options.threads = steps_;
    engine_ = std::make_unique<engine>(std::move(options));
    steps_->run_all();
  }
  ~stepped_engine() {
    while_stepping(*steps_, [this] { engine_.reset(); });
    steps_->run_all();
  }
  stepped_engine(const stepped_engine&) = delete;
  stepped_engine& operator=(const stepped_engine&) = delete;

  [[nodiscard]] engine& operator*() const { return *engine_; }
  [[nodiscard]] engine* operator->() const { return engine_.get(); }

  [[nodiscard]] stepped_executor& steps() const { return *steps_; }
  bool step() { return steps_->step(); }
  void settle() { steps_->run_all(); }
  void advance(std::chrono::nanoseconds by) { advance_time(engine_->system(), by); }

private:
  const std::shared_ptr<stepped_executor> steps_;
  std::unique_ptr<engine> engine_;
};

} // namespace sluice::test
