// What becomes of the runs of a session when a device is lost.
#include <sluice/actors/session_core.hpp>

#include <sluice/actors/session_actor.hpp>

#include <algorithm>

namespace sluice {

void session_core::device_lost(std::uint32_t d) {
  const auto& lost = devices_.at(d).accelerator;
  std::string why = devices_.at(d).name + " is gone";
  try {
    if (const auto failure = lost ? lost->loss()->failure() : nullptr)
      std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    why = e.what();
  }
  const std::lock_guard lock{mutex_};
  if (life_ == life::closed || !devices_.lose(d, std::move(why)))
    return;
  recent_ = {};
  plans_.forget_users_of(d);
  for (const auto& r : entrance_.take_users_of(d))
    plan_again(*r);
  for (const auto& r : std::exchange(awaiting_loss_, {}))
    if (!r->stopped_by)
      run_again(*r);
  changed_.notify_all();
}

bool session_core::may_run_again(const run_state& r) const {
  const auto& p = *r.plan;
  const auto has_state = [](const executable_step& s) {
    return s.what == executable_step::kind::stateful_function;
  };
  return p.source->devices.size() > 1 && r.external.empty() && !r.when_opened &&
         std::none_of(p.steps.begin(), p.steps.end(), has_state);
}

bool session_core::runs_again(const run_state& r, const run_state::outcome& o) const {
  const auto* const failure = std::get_if<std::exception_ptr>(&o);
  if (!failure || !r.may_run_again || r.stopped_by || life_ == life::closed)
    return false;
  try {
    std::rethrow_exception(*failure);
  } catch (const error& e) {
    return e.code() == errc::device_lost;
  } catch (...) {
    return false;
  }
}

void session_core::run_again(run_state& r) {
  if (!r.keeps_session)
    r.keeps_session = shared_from_this();
  if (devices_.lost(*r.plan->source)) {
    r.feeds = std::move(r.kept_feeds);
    plan_again(r);
  } else { // the device's actor has yet to say so
    note_deadline(r);
    awaiting_loss_.emplace_back(&r);
  }
}

void session_core::plan_again(run_state& r) {
  auto order = plans_.order_of(*r.plan);
  r.plan = nullptr;
  note_deadline(r);
  if (plans_.wait_for(order->key, r))
    ask_for_plan(placement_actor_, std::move(order));
}

} // namespace sluice
