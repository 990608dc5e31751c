#include <sluice/actors/run_state.hpp>

#include <sluice/actors/next_frames.hpp>
#include <sluice/actors/session_core.hpp>
#include <sluice/devices/executor.hpp>

#include <utility>

namespace sluice {

/// Calls a callback on a worker.
struct callback_job final : job {
  explicit callback_job(intrusive_ptr<run_state> s) : state(std::move(s)) {}
  void run(worker& here) noexcept override {
    {
      const next_frames::turn turn{here};
      state->call();
    }
    delete this;
  }
  const intrusive_ptr<run_state> state;
};

bool run_state::decide() noexcept {
  return (phase_.fetch_or(decided, std::memory_order_acq_rel) & decided) == 0;
}

void run_state::stop_by(const std::stop_token& token) {
  has_stop_ = true;
  stop_.emplace(token, [this] {
    if (const auto core = session.lock())
      core->cancel(*this);
  });
  disarm();
}

void run_state::disarm() noexcept {
  if (stop_met_.exchange(true, std::memory_order_acq_rel))
    stop_.reset();
}

void run_state::publish(outcome o, bool on_worker) {
  const auto session_alive = std::move(keeps_session);
  outcome_ = std::move(o);
  const auto before = phase_.fetch_or(published, std::memory_order_acq_rel);
  if (before & awaited)
    phase_.notify_all();
  if (has_stop_)
    disarm();
  if (before & armed)
    call_back(on_worker);
}

void run_state::wait() const noexcept {
  for (auto p = phase_.load(std::memory_order_acquire); !(p & published);
       p = phase_.load(std::memory_order_acquire)) {
    if (!(p & awaited))
      p = phase_.fetch_or(awaited, std::memory_order_acq_rel) | awaited;
    if (!(p & published))
      phase_.wait(p, std::memory_order_acquire);
  }
}

values run_state::take() {
  auto o = std::exchange(outcome_, std::nullopt);
  if (!o)
    throw error{errc::invalid_argument, "the result was taken already"};
  if (auto* failure = std::get_if<std::exception_ptr>(&*o))
    std::rethrow_exception(*failure);
  return std::move(std::get<values>(*o));
}

void run_state::when_ready(callback f) {
  claim_callback();
  arm_callback(std::move(f));
}

void run_state::then(std::function<void(values)> on_values, std::function<void(const error&)> on_error) {
  claim_callback();
  on_values_ = std::move(on_values);
  on_error_ = std::move(on_error);
  arm_callback([](run_state& s) { s.take_for_both(); });
}

void run_state::claim_callback() {
  if (phase_.fetch_or(claimed, std::memory_order_acq_rel) & claimed)
    throw error{errc::invalid_argument, "somebody is to be called with this result already"};
}

void run_state::arm_callback(callback f) {
  callback_ = std::move(f);
  if (phase_.fetch_or(armed, std::memory_order_acq_rel) & published)
    call_back(false);
}

void run_state::call_back(bool on_worker) {
  if (on_worker)
    call();
  else
    threads_->submit(*new callback_job{intrusive_ptr<run_state>{this}});
}

void run_state::call() noexcept {
  const auto report = [this](const char* what) {
    if (const auto core = session.lock())
      core->callback_failed(what);
  };
  try {
    callback_(*this);
  } catch (const std::exception& e) {
    report(e.what());
  } catch (...) {
    report("something that is no std::exception");
  }
  // What they hold may hold this in turn.
  callback_ = nullptr;
  on_values_ = nullptr;
  on_error_ = nullptr;
}

void run_state::take_for_both() {
  std::optional<values> results;
  try {
    results = take();
  } catch (const error& e) {
    if (on_error_)
      on_error_(e);
    return;
  }
  if (on_values_)
    on_values_(std::move(*results));
}

void pending_result::wait() const {
  if (!state_->ready() && worker::current())
    throw error{errc::blocking_call,
                "waiting for a result would block a worker thread: use then() or co_await"};
  state_->wait();
}

values pending_result::get() {
  wait();
  return state_->take();
}

void pending_result::cancel() {
  if (const auto session = state_->session.lock())
    session->cancel(*state_);
}

} // namespace sluice
