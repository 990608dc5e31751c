#include <sluice/actors/run_state.hpp>

#include <sluice/actors/next_frames.hpp>
#include <sluice/actors/session_core.hpp>
#include <sluice/devices/executor.hpp>

#include <utility>

namespace sluice {

/// Calls a callback on a worker.
struct callback_job final : job {
  callback_job(intrusive_ptr<run_state> s, run_state::callback c) : state(std::move(s)), f(std::move(c)) {}
  void run(worker& here) noexcept override {
    {
      const next_frames::turn turn{here};
      state->call(f);
    }
    delete this;
  }
  const intrusive_ptr<run_state> state;
  const run_state::callback f;
};

bool run_state::decide() noexcept {
  auto expected = static_cast<std::uint32_t>(open);
  return phase_.compare_exchange_strong(expected, decided, std::memory_order_acq_rel);
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
  callback f;
  {
    const std::lock_guard lock{mutex_};
    outcome_ = std::move(o);
    phase_.store(published, std::memory_order_release);
    f = std::move(callback_);
  }
  phase_.notify_all();
  if (has_stop_)
    disarm();
  if (f)
    call_back(std::move(f), on_worker);
}

void run_state::wait() const noexcept {
  for (auto p = phase_.load(std::memory_order_acquire); p != published;
       p = phase_.load(std::memory_order_acquire))
    phase_.wait(p, std::memory_order_acquire);
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
  {
    const std::lock_guard lock{mutex_};
    if (phase_.load(std::memory_order_relaxed) != published) {
      if (callback_)
        throw error{errc::invalid_argument, "somebody is to be called with this result already"};
      callback_ = std::move(f);
      return;
    }
  }
  call_back(std::move(f), false);
}

void run_state::call_back(callback f, bool on_worker) {
  if (on_worker)
    call(f);
  else
    threads_->submit(*new callback_job{intrusive_ptr<run_state>{this}, std::move(f)});
}

void run_state::call(const callback& f) noexcept {
  const auto report = [this](const char* what) {
    if (const auto core = session.lock())
      core->callback_failed(what);
  };
  try {
    f(*this);
  } catch (const std::exception& e) {
    report(e.what());
  } catch (...) {
    report("something that is no std::exception");
  }
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

void pending_result::then(std::function<void(values)> on_values, std::function<void(const error&)> on_error) {
  state_->when_ready([on_values = std::move(on_values), on_error = std::move(on_error)](run_state& s) {
    std::optional<values> results;
    try {
      results = s.take();
    } catch (const error& e) {
      if (on_error)
        on_error(e);
      return;
    }
    if (on_values)
      on_values(std::move(*results));
  });
}

} // namespace sluice
