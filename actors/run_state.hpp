#pragma once

#include <sluice/actors/feeds.hpp>
#include <sluice/devices/executor.hpp>
#include <sluice/graph/error.hpp>
#include <sluice/graph/memory.hpp>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <variant>

namespace sluice {

class session_core;
struct callback_job;
struct executable_plan;

/// One request to run, from the call to its outcome. Shared by the caller, the queue and the frame.
///
/// The outcome is decided once: whoever wins decide() sets it.
class SLUICE_API run_state : public ref_counted<run_state> {
public:
  using clock = std::chrono::steady_clock;
  using outcome = std::variant<values, std::exception_ptr>;
  using callback = std::function<void(run_state&)>;

  explicit run_state(std::shared_ptr<executor> threads) : threads_(std::move(threads)) {}

  /// True for exactly one caller, who then calls publish().
  [[nodiscard]] bool decide() noexcept;
  /// Sets the outcome, wakes who waits, and calls the callback: here, or, where `on_worker` is false, on a
  /// worker.
  void publish(outcome o, bool on_worker);
  /// decide() and publish() in one.
  void settle(outcome o, bool on_worker) {
    if (decide())
      publish(std::move(o), on_worker);
  }

  [[nodiscard]] bool ready() const noexcept {
    return (phase_.load(std::memory_order_acquire) & published) != 0;
  }
  void wait() const noexcept;
  /// The outcome, once: values or the error thrown. Only if ready().
  [[nodiscard]] values take();
  /// Calls `f` on a worker when there is an outcome, which it may take. Throws errc::invalid_argument if
  /// somebody else was to be called already.
  void when_ready(callback f);
  /// The same; one of both is called with what take() gives or throws.
  void then(std::function<void(values)> on_values, std::function<void(const error&)> on_error);
  /// Lets `token` cancel the run, until there is an outcome. Once, by the thread that makes the request.
  void stop_by(const std::stop_token& token);

  // What the session keeps here; under its lock, or fixed before the request is queued.
  std::shared_ptr<const executable_plan> plan;
  std::vector<value> feeds;
  std::vector<value> kept_feeds; ///< the same, for another run, while it has a frame and `may_run_again`
  bool may_run_again = false;
  std::vector<value> into;             ///< the caller's buffers, by result; empty: none
  std::vector<std::uint32_t> external; ///< positions of the fed edges that come as tokens
  std::weak_ptr<session_core> session;
  std::shared_ptr<session_core> keeps_session; ///< until it has a frame or an outcome
  std::optional<clock::time_point> deadline;
  bool deadline_of_patience = false; ///< it is not the caller's: how long it waits for results that are held
  std::exception_ptr stopped_by;     ///< why it must not run, or not run on
  int priority = 0;
  std::uint64_t sequence = 0;        ///< of arrival
  std::optional<std::uint32_t> slot; ///< while it has a frame
  bool queued = false;
  bool waits_for_memory = false;
  /// Whether it runs in parts, which are requests of their own, is such a part, runs in a batch with others,
  /// or must not.
  enum class cutting : std::uint8_t { none, in_parts, part, joined, alone } cut = cutting::none;
  std::function<void(std::uint64_t)> when_opened; ///< hears the frame's number

private:
  friend class ref_counted<run_state>;
  void destroy() const noexcept { delete this; }
  void claim_callback();
  void arm_callback(callback f);
  void call_back(bool on_worker);
  void call() noexcept;
  void take_for_both();
  friend struct callback_job;
  void disarm() noexcept;

  /// What has happened so far. Of `published` and `armed` whoever comes second sees the other, and calls.
  enum phase : std::uint32_t {
    decided = 1,   ///< somebody answers
    published = 2, ///< the outcome is there
    claimed = 4,   ///< somebody is to be called
    armed = 8,     ///< the callback is there
    awaited = 16,  ///< a thread waits for `published`
  };

  const std::shared_ptr<executor> threads_;
  mutable std::atomic<std::uint32_t> phase_ = 0;
  std::optional<outcome> outcome_; // written before `published`
  callback callback_;              // what follows is written before `armed`
  std::function<void(values)> on_values_;
  std::function<void(const error&)> on_error_;
  // Whoever comes second, of the one who arms it and the one who publishes the outcome, takes it down.
  std::optional<std::stop_callback<std::function<void()>>> stop_;
  bool has_stop_ = false;
  std::atomic<bool> stop_met_ = false;
};

/// The result of a run that may still be under way. Dropping it lets the run go on; cancel() ends it.
class SLUICE_API pending_result {
public:
  explicit pending_result(intrusive_ptr<run_state> state) : state_(std::move(state)) {}

  [[nodiscard]] bool ready() const noexcept { return state_->ready(); }
  /// Blocks until there is an outcome. Throws errc::blocking_call on a worker thread.
  void wait() const;
  /// The results, once. Blocks like wait(); throws what went wrong.
  [[nodiscard]] values get();
  /// Answers at once with errc::cancelled, unless the outcome is there already.
  void cancel();
  /// Calls one of both, on a worker, when there is an outcome. What they throw is logged.
  void then(std::function<void(values)> on_values, std::function<void(const error&)> on_error = {}) {
    state_->then(std::move(on_values), std::move(on_error));
  }

  // For co_await: resumes on a worker.
  [[nodiscard]] bool await_ready() const noexcept { return ready(); }
  void await_suspend(std::coroutine_handle<> h) {
    state_->when_ready([h](run_state&) { h.resume(); });
  }
  [[nodiscard]] values await_resume() { return state_->take(); }

private:
  intrusive_ptr<run_state> state_;
};

} // namespace sluice
