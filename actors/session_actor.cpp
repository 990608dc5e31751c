#include <sluice/actors/session_actor.hpp>

#include <sluice/actors/messages.hpp>
#include <sluice/actors/session_core.hpp>

#include <caf/actor_clock.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/response_promise.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>
#include <deque>
#include <map>

namespace sluice {

/// Within the process only.
struct plan_order {
  std::shared_ptr<const plan_book::ticket> ticket;
};
struct finished_run {
  std::uint64_t id;
  intrusive_ptr<run_state> state;
};
struct opened_frame {
  std::uint64_t id;
  std::uint64_t frame;
};

} // namespace sluice

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::plan_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::finished_run)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::opened_frame)

namespace sluice {

namespace {

using tick = caf::atom_constant<caf::atom("tick")>;
using watch = caf::atom_constant<caf::atom("watch")>;
using leave = caf::atom_constant<caf::atom("leave")>;

/// Outcomes of opened frames that are kept for who may ask; beyond, the oldest is forgotten.
constexpr std::size_t most_unclaimed = 256;

caf::error caf_error(const std::string& text) {
  return caf::make_error(caf::sec::runtime_error, text);
}

struct session_state {
  struct open_one {
    caf::response_promise opened;
    std::uint64_t frame = 0;
    intrusive_ptr<run_state> outcome; // once it is there
    std::vector<caf::response_promise> awaiting;
  };
  std::uint64_t next_id = 0;
  std::map<std::uint64_t, caf::response_promise> runs;
  std::map<std::uint64_t, open_one> frames;
  std::deque<std::uint64_t> unclaimed; // frames with an outcome that nobody has asked for, oldest first
  bool leaving = false;
  caf::error reason = caf::exit_reason::user_shutdown;

  std::weak_ptr<session_core> core;

  session_state() = default;
  session_state(const session_state&) = delete;
  session_state& operator=(const session_state&) = delete;
  /// The actor ends, perhaps killed, and no handler was asked. Whoever is owed an answer gets this one, and
  /// the session ends with it: nobody else would keep the deadlines or replace nodes. Only then others hear.
  ~session_state() {
    const auto refuse = [](caf::response_promise& p) {
      if (p.pending())
        p.deliver(caf_error("the session's actor was killed"));
    };
    for (auto& [id, promise] : runs)
      refuse(promise);
    for (auto& [id, f] : frames) {
      refuse(f.opened);
      for (auto& promise : f.awaiting)
        refuse(promise);
    }
    close();
  }

  void close() const {
    if (const auto session = core.lock())
      session->close(std::chrono::nanoseconds{0});
  }

  /// True if nobody is owed an answer.
  [[nodiscard]] bool idle() const {
    return runs.empty() && std::all_of(frames.begin(), frames.end(),
                                       [](const auto& f) { return f.second.outcome != nullptr; });
  }

  static const char* name;
};
const char* session_state::name = "sluice.session";

/// Answers with the outcome of `r`; `here` is the node of this process.
void answer(caf::response_promise& to, run_state& r, const caf::node_id& here) {
  try {
    auto results = r.take();
    run_reply reply;
    const auto far = to.source() && to.source()->node() != here;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (far && !encodable(results.at(i)))
        throw error{errc::unsupported, "result '" + results.name(i) + "' is " + describe(results.at(i)) +
                                           ", which cannot be sent to another process"};
      reply.results.emplace_back(results.name(i), results.at(i));
    }
    to.deliver(std::move(reply));
  } catch (const std::exception& e) {
    to.deliver(caf_error(e.what()));
  }
}

caf::behavior session_behavior(caf::stateful_actor<session_state>* self,
                               const std::weak_ptr<session_core>& weak,
                               const std::vector<caf::actor>& nodes) {
  self->state.core = weak;
  for (const auto& n : nodes)
    self->monitor(n);
  self->set_down_handler([weak](caf::down_msg& down) {
    if (const auto core = weak.lock())
      core->restart_node(down.source);
  });
  self->set_default_handler(caf::drop);
  const auto leave_when_idle = [self] {
    if (self->state.leaving && self->state.idle())
      self->quit(self->state.reason);
  };
  self->set_exit_handler([self, leave_when_idle](const caf::exit_msg& message) {
    if (!message.reason)
      return;
    self->state.leaving = true;
    self->state.reason = message.reason;
    self->state.close();
    leave_when_idle();
  });
  const auto report_to_self = [me = caf::actor_cast<caf::actor>(self)](std::uint64_t id) {
    return [me, id](run_state& r) { caf::anon_send(me, finished_run{id, intrusive_ptr<run_state>{&r}}); };
  };
  return {
      [=](const run_request& request) -> caf::result<run_reply> {
        const auto core = weak.lock();
        if (!core)
          return caf_error("the session is closed");
        auto promise = self->make_response_promise<run_reply>(); // from here on, only it answers
        const auto id = ++self->state.next_id;
        self->state.runs.emplace(id, promise);
        run_options options;
        options.deadline = request.deadline;
        options.fetch = request.fetch;
        core->submit(request.inputs, options, false)->when_ready(report_to_self(id));
        return promise;
      },
      [=](const open_frame& request) -> caf::result<frame_opened> {
        const auto core = weak.lock();
        if (!core)
          return caf_error("the session is closed");
        if (request.deadline.count() <= 0)
          return caf_error("a frame that is opened needs a deadline");
        auto promise = self->make_response_promise<frame_opened>();
        const auto id = ++self->state.next_id;
        self->state.frames[id].opened = promise;
        run_options options;
        options.deadline = request.deadline;
        options.fetch = request.fetch;
        core->submit(request.inputs, options, false, {}, request.external,
                     [me = caf::actor_cast<caf::actor>(self), id](std::uint64_t frame) {
                       caf::anon_send(me, opened_frame{id, frame});
                     })
            ->when_ready(report_to_self(id));
        return promise;
      },
      [=](const await_frame& request) -> caf::result<run_reply> {
        auto& frames = self->state.frames;
        const auto at = std::find_if(frames.begin(), frames.end(),
                                     [&](const auto& f) { return f.second.frame == request.frame; });
        if (at == frames.end() || request.frame == 0)
          return caf_error("frame " + std::to_string(request.frame) +
                           " is not open, or its outcome was taken");
        auto promise = self->make_response_promise<run_reply>();
        if (!at->second.outcome) {
          at->second.awaiting.push_back(promise);
          return promise;
        }
        caf::response_promise taken = promise;
        answer(taken, *at->second.outcome, self->node());
        std::erase(self->state.unclaimed, at->first);
        frames.erase(at);
        return promise;
      },
      [=](const opened_frame& opened) {
        const auto at = self->state.frames.find(opened.id);
        if (at == self->state.frames.end())
          return;
        at->second.frame = opened.frame;
        at->second.opened.deliver(frame_opened{opened.frame});
      },
      [=](const finished_run& finished) {
        if (const auto run = self->state.runs.find(finished.id); run != self->state.runs.end()) {
          answer(run->second, *finished.state, self->node());
          self->state.runs.erase(run);
          leave_when_idle();
          return;
        }
        const auto at = self->state.frames.find(finished.id);
        if (at == self->state.frames.end())
          return;
        auto& f = at->second;
        if (f.frame == 0) // it was never opened
          answer(f.opened, *finished.state, self->node());
        else if (f.awaiting.empty()) {
          f.outcome = finished.state;
          self->state.unclaimed.push_back(finished.id);
          if (self->state.unclaimed.size() > most_unclaimed) {
            self->state.frames.erase(self->state.unclaimed.front());
            self->state.unclaimed.pop_front();
          }
          leave_when_idle();
          return;
        } else
          answer(f.awaiting.front(), *finished.state, self->node());
        for (std::size_t i = 1; i < f.awaiting.size(); ++i)
          f.awaiting[i].deliver(caf_error("the outcome went to whoever asked first"));
        self->state.frames.erase(at);
        leave_when_idle();
      },
      [=](tick) {
        if (const auto core = weak.lock())
          core->expire(self->clock().now());
      },
      [=](leave) {
        self->state.leaving = true;
        leave_when_idle();
      },
      [=](watch, const caf::actor& node) { self->monitor(node); },
  };
}

caf::behavior placement_behavior(caf::event_based_actor* self, const std::weak_ptr<session_core>& weak,
                                 const std::vector<caf::actor>& devices) {
  self->set_default_handler(caf::drop);
  std::vector<caf::actor_addr> watched;
  for (const auto& d : devices) {
    self->monitor(d);
    watched.push_back(d.address());
  }
  self->set_down_handler([weak, watched](caf::down_msg& down) {
    const auto at = std::find(watched.begin(), watched.end(), down.source);
    const auto core = weak.lock();
    if (core && at != watched.end())
      core->device_lost(static_cast<std::uint32_t>(at - watched.begin()));
  });
  return {
      [weak](const plan_order& order) {
        const auto core = weak.lock();
        if (!core)
          return;
        std::shared_ptr<const executable_plan> made;
        std::exception_ptr failure;
        try {
          made = core->make_plan(*order.ticket);
        } catch (const error&) {
          failure = std::current_exception();
        } catch (const std::exception& e) {
          failure = std::make_exception_ptr(
              error{errc::kernel_failed, std::string{"no plan could be made: "} + e.what()});
        }
        core->plan_ready(*order.ticket, std::move(made), failure);
      },
  };
}

} // namespace

caf::actor spawn_session_actor(caf::actor_system& system, std::weak_ptr<session_core> core,
                               std::vector<caf::actor> nodes) {
  return system.spawn(session_behavior, std::move(core), std::move(nodes));
}

caf::actor spawn_placement_actor(caf::actor_system& system, std::weak_ptr<session_core> core,
                                 std::vector<caf::actor> devices) {
  return system.spawn(placement_behavior, std::move(core), std::move(devices));
}

void ask_for_plan(const caf::actor& placement, std::shared_ptr<const plan_book::ticket> order) {
  caf::anon_send(placement, plan_order{std::move(order)});
}

void tick_at(caf::actor_system& system, const caf::actor& session, std::chrono::steady_clock::time_point t) {
  system.clock().schedule_message(
      t, caf::actor_cast<caf::strong_actor_ptr>(session),
      caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, tick::value));
}

void end_session_actor(const caf::actor& session) {
  caf::anon_send(session, leave::value);
}

void monitor_node(const caf::actor& session, const caf::actor& node) {
  caf::anon_send(session, watch::value, node);
}

} // namespace sluice
