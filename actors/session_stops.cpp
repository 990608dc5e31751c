// How runs of a session end before their time, and how the session itself ends.

#include <sluice/actors/session_core.hpp>

#include <sluice/actors/batching_actor.hpp>
#include <sluice/actors/session_actor.hpp>
#include <sluice/actors/session_waits.hpp>

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

namespace sluice {

void session_core::cancel(run_state& r) {
  const intrusive_ptr<run_state> keep{&r};
  if (r.ready())
    return;
  const auto why = std::make_exception_ptr(error{errc::cancelled, "the run was cancelled"});
  bool others_may_fit = false;
  {
    const std::lock_guard lock{mutex_};
    if (r.stopped_by)
      return; // somebody else answers
    r.stopped_by = why;
    deadlines_.forget(r);
    if (r.queued) {
      static_cast<void>(entrance_.remove(r));
      others_may_fit = r.waits_for_memory;
    } else if (r.slot) {
      stop_frame(runtime_.slot(*r.slot), r);
      if (!r.into.empty())
        return; // the frame may still write to the caller's memory: answered when it is quiescent
    }
    changed_.notify_all();
  }
  plans_.leave(r);
  r.settle(why, worker::current() != nullptr);
  if (r.cut == run_state::cutting::in_parts)
    stop_parts(batching_actor_);
  if (others_may_fit)
    admit_waiting();
}

void session_core::stop_frame(frame& f, run_state& r) {
  f.stop();
  for (const auto position : std::exchange(r.external, {}))
    deliver_external(f, position, {});
  external_frames_.erase(f.number);
}

void session_core::note_deadline(run_state& r) {
  deadlines_.note(r);
  look_at_deadlines();
}

void session_core::look_at_deadlines() {
  if (life_ == life::closed)
    return;
  if (const auto when = deadlines_.look_at())
    tick_at(services_.system, session_actor_, *when);
}

void session_core::expire(run_state::clock::time_point now) {
  std::vector<intrusive_ptr<run_state>> answered;
  bool others_may_fit = false;
  {
    const std::lock_guard lock{mutex_};
    for (auto& r : deadlines_.take_late(now)) {
      const auto waits = r->waits_for_memory && r->queued;
      const auto held_up = waits && setup_.device->in_use(memory_use::held) > 0;
      if (r->deadline_of_patience && !held_up) {
        // Only frames in flight are in its way, and they end.
        r->deadline = now + patience_with_holders;
        deadlines_.note(*r);
        continue;
      }
      others_may_fit = others_may_fit || waits;
      r->stopped_by = held_up
                          ? std::make_exception_ptr(error{errc::out_of_memory, out_of_memory_text(*r->plan)})
                          : std::make_exception_ptr(
                                error{errc::deadline_exceeded,
                                      r->queued ? "the deadline passed while the run waited in the queue"
                                                : "the deadline passed while the run was under way"});
      if (r->queued)
        static_cast<void>(entrance_.remove(*r));
      else if (r->slot)
        stop_frame(runtime_.slot(*r->slot), *r);
      if (!r->slot || r->into.empty())
        answered.push_back(std::move(r));
    }
    look_at_deadlines();
    changed_.notify_all();
  }
  for (const auto& r : answered) {
    plans_.leave(*r);
    r->settle(r->stopped_by, false);
    if (r->cut == run_state::cutting::in_parts)
      stop_parts(batching_actor_);
  }
  if (others_may_fit)
    admit_waiting();
}

void session_core::close(std::chrono::nanoseconds drain) {
  const auto may_wait = worker::current() == nullptr;
  const auto why =
      std::make_exception_ptr(error{errc::engine_closed, "session '" + setup_.options.name + "' was closed"});
  std::vector<intrusive_ptr<run_state>> left;
  {
    std::unique_lock lock{mutex_};
    if (life_ == life::open)
      life_ = life::draining;
    changed_.notify_all();
    if (may_wait)
      changed_.wait_for(lock, std::min(drain, longest_wait), [this] {
        return entrance_.in_flight() == 0 && entrance_.queue_empty() && plans_.nobody_waits() &&
               awaiting_loss_.empty() && cut_.empty() && handing_over_ == 0;
      });
    life_ = life::closed;
    left = entrance_.take_all();
    for (auto& r : plans_.take_waiting())
      left.push_back(std::move(r));
    for (auto& r : std::exchange(cut_, {}))
      left.push_back(std::move(r));
    for (auto& r : std::exchange(awaiting_loss_, {}))
      left.push_back(std::move(r));
    for (const auto& r : running_) {
      if (!r || r->stopped_by)
        continue;
      stop_frame(runtime_.slot(*r->slot), *r);
      if (r->into.empty())
        left.push_back(r);
      else
        r->stopped_by = why; // answered when the frame is quiescent
    }
    std::erase_if(left, [](const auto& r) { return r->stopped_by != nullptr; });
    for (const auto& r : left)
      r->stopped_by = why;
    deadlines_.clear();
    changed_.notify_all();
  }
  for (const auto& r : left)
    r->settle(why, false);
  end_actors();
  if (!may_wait)
    return;
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [this] { return actors_ended_; });
}

void session_core::end_actors() {
  {
    const std::lock_guard lock{mutex_};
    if (life_ != life::closed || entrance_.in_flight() > 0 || std::exchange(actors_ending_, true))
      return;
  }
  nodes_.end();
  setup_.blocks->trim();
  if (session_actor_)
    end_session_actor(session_actor_);
  if (placement_actor_)
    caf::anon_send_exit(placement_actor_, caf::exit_reason::user_shutdown);
  if (batching_actor_)
    caf::anon_send_exit(batching_actor_, caf::exit_reason::user_shutdown);
  const std::lock_guard lock{mutex_};
  actors_ended_ = true;
  changed_.notify_all();
}

} // namespace sluice
