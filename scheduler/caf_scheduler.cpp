#include <sluice/scheduler/caf_scheduler.hpp>

#include <sluice/graph/error.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/detail/set_thread_name.hpp>
#include <caf/detail/test_actor_clock.hpp>
#include <caf/detail/thread_safe_actor_clock.hpp>
#include <caf/logger.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <atomic>
#include <thread>

namespace sluice {

namespace {

/// CAF's scheduler on top of an executor. It derives from the abstract coordinator: the stock workers do per
/// resume what nobody here needs.
class executor_scheduler final : public caf::scheduler::abstract_coordinator {
public:
  executor_scheduler(caf::actor_system& system, std::shared_ptr<executor> threads)
    : abstract_coordinator(system), threads_(std::move(threads)) {}

  void enqueue(caf::resumable* what) override {
    outstanding_.fetch_add(1, std::memory_order_relaxed);
    threads_->submit(*new resumption{*this, what});
  }

  caf::actor_clock& clock() noexcept override {
    if (threads_->stepped())
      return manual_clock_;
    return clock_;
  }

  void advance_time(std::chrono::nanoseconds by) { manual_clock_.advance_time(by); }

  [[nodiscard]] const std::shared_ptr<executor>& threads() const noexcept { return threads_; }

private:
  /// One turn of an actor.
  struct resumption final : job {
    resumption(executor_scheduler& s, caf::resumable* a) : scheduler(s), actor(a) {}
    void run(worker&) noexcept override {
      scheduler.resume(actor);
      delete this;
    }
    executor_scheduler& scheduler;
    caf::resumable* const actor;
  };

  struct unit final : caf::execution_unit {
    explicit unit(executor_scheduler& s) : execution_unit(&s.system()), scheduler(s) {}
    void exec_later(caf::resumable* what) override { scheduler.enqueue(what); }
    executor_scheduler& scheduler;
  };

  void resume(caf::resumable* actor) {
    caf::logger::set_current_actor_system(&system());
    unit here{*this};
    switch (actor->resume(&here, max_throughput())) {
    case caf::resumable::resume_later:
      enqueue(actor);
      break;
    case caf::resumable::done:
    case caf::resumable::awaiting_message:
      caf::intrusive_ptr_release(actor);
      break;
    case caf::resumable::shutdown_execution_unit:
      break;
    }
    caf::logger::set_current_actor_system(nullptr);
    // The last thing that touches this object: stop() waits for it.
    if (outstanding_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      outstanding_.notify_all();
  }

  void start() override {
    // Between resumes nobody counts on these threads: actors of this system run there as long as it lives.
    num_workers_ = threads_->concurrency();
    if (!threads_->stepped())
      timer_ = std::thread{[this] {
        caf::logger::set_current_actor_system(&system());
        caf::detail::set_thread_name("sluice-clock");
        system().thread_started();
        clock_.run_dispatch_loop();
        system().thread_terminates();
      }};
    abstract_coordinator::start();
  }

  void stop() override {
    stop_actors();
    for (auto n = outstanding_.load(std::memory_order_acquire); n != 0;
         n = outstanding_.load(std::memory_order_acquire))
      outstanding_.wait(n, std::memory_order_acquire);
    if (!timer_.joinable())
      return;
    clock_.cancel_dispatch_loop();
    timer_.join();
  }

  const std::shared_ptr<executor> threads_;
  caf::detail::thread_safe_actor_clock clock_;
  caf::detail::test_actor_clock manual_clock_;
  std::thread timer_;
  std::atomic<std::size_t> outstanding_ = 0;
};

} // namespace

void run_actors_on(caf::actor_system_config& config, std::shared_ptr<executor> threads) {
  config.module_factories.push_back([threads](caf::actor_system& system) -> caf::actor_system::module* {
    return new executor_scheduler{system, threads};
  });
}

std::shared_ptr<executor> executor_of(caf::actor_system& system) {
  if (auto* ours = dynamic_cast<executor_scheduler*>(&system.scheduler()))
    return ours->threads();
  return nullptr;
}

void advance_time(caf::actor_system& system, std::chrono::nanoseconds by) {
  auto* const ours = dynamic_cast<executor_scheduler*>(&system.scheduler());
  if (!ours || !ours->threads()->stepped())
    throw error{errc::invalid_argument, "only the time of a stepped executor can be advanced"};
  ours->advance_time(by);
}

} // namespace sluice
