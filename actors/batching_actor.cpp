#include <sluice/actors/batching_actor.hpp>

#include <sluice/actors/joint_run.hpp>
#include <sluice/actors/session_core.hpp>
#include <sluice/actors/session_waits.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>
#include <bit>
#include <deque>

namespace sluice {

/// Within the process only.
struct cut_order {
  std::shared_ptr<cut_run> run;
};
struct out_of_patience {
  std::shared_ptr<cut_run> run;
};
struct joint_order {
  std::shared_ptr<joint_run> run;
};
struct joint_ended {
  std::shared_ptr<joint_run> run;
  intrusive_ptr<run_state> state;
};
struct part_ended {
  std::shared_ptr<cut_run> run;
  cut_schedule::part part;
  intrusive_ptr<run_state> state;
};

} // namespace sluice

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::cut_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::out_of_patience)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::joint_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::joint_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::part_ended)

namespace sluice {

namespace {

using memory_freed = caf::atom_constant<caf::atom("freed")>;
using look_at_stopped = caf::atom_constant<caf::atom("stopped")>;

struct batching_state {
  struct running_part {
    cut_schedule::part part;
    intrusive_ptr<run_state> state;
  };

  std::weak_ptr<session_core> core;
  std::deque<std::shared_ptr<cut_run>> waiting;  // the first one runs
  bool prepared = false;                         // the first one has its memory and a schedule
  std::vector<running_part> parts;               // of the first one
  std::map<std::string, cut_experience> learned; // by kind of request

  std::map<const executable_plan*, joint_kind> joints; // by the plan of one request
  std::size_t running_joints = 0;                      // they look their kind up when they end

  static const char* name;
};
const char* batching_state::name = "sluice.batching";

/// Sizes found are remembered for so many kinds of requests.
constexpr std::size_t most_kinds = 64;

class batching {
public:
  explicit batching(caf::stateful_actor<batching_state>* self) : self_(self), state_(self->state) {}

  void order(std::shared_ptr<cut_run> run) {
    state_.waiting.push_back(std::move(run));
    go_on();
  }

  void ended(const part_ended& e) {
    std::erase_if(state_.parts, [&](const auto& p) { return p.state == e.state; });
    e.state->into.clear(); // whoever gets the results may give them back before this message is gone
    auto& schedule = e.run->schedule();
    try {
      e.run->take_results(e.part, e.state->take());
      if (const auto core = state_.core.lock())
        e.run->learn(e.part.items, e.state->plan->frame_bytes(), core->resources_for_cuts());
      schedule.succeeded(e.part, self_->clock().now());
    } catch (const error& failure) {
      const auto shrinks =
          failure.code() == errc::out_of_memory && schedule.wanted(e.part) && schedule.too_large(e.part);
      if (!shrinks)
        schedule.failed(e.part, std::make_exception_ptr(error{
                                    failure.code(), "items " + std::to_string(e.part.first) + " to " +
                                                        std::to_string(e.part.first + e.part.items - 1) +
                                                        ": " + failure.what()}));
    }
    go_on();
  }

  /// What has an outcome already needs no parts any more.
  void look_at_stopped() {
    const auto front = front_run();
    if (front && state_.prepared && front->whole().ready()) {
      front->schedule().stop();
      cancel_unwanted();
    }
    go_on();
  }

  void go_on() {
    while (const auto run = front_run()) {
      const auto core = state_.core.lock();
      if (!core)
        return state_.waiting.clear();
      if (!state_.prepared && !prepare(*core, run))
        return;
      if (state_.prepared) {
        if (run->whole().ready())
          run->schedule().stop();
        start_parts(*core, run);
        cancel_unwanted();
        if (!run->schedule().finished())
          return;
      }
      finish(*core, *run);
    }
  }

  void join(const std::shared_ptr<joint_run>& run) {
    const auto core = state_.core.lock();
    if (!core)
      return;
    std::erase_if(run->requests, [](const auto& r) { return r->ready(); });
    const auto several = std::bit_floor(run->requests.size());
    const std::vector<intrusive_ptr<run_state>> rest(
        run->requests.begin() + static_cast<std::ptrdiff_t>(several), run->requests.end());
    run->requests.resize(several);
    if (several < 2 || !start_joint(*core, run))
      core->run_alone(run->requests);
    core->run_alone(rest);
  }

  /// Each gets its rows. If the batch failed, each runs by itself: one may be at fault, not its neighbours.
  void finish_joint(const joint_ended& e) {
    const auto core = state_.core.lock();
    if (!core)
      return;
    try {
      const auto all = e.state->take();
      const auto& kind = state_.joints.at(e.run->single.get());
      for (std::size_t i = 0; i < e.run->requests.size(); ++i)
        core->finish_cut(*e.run->requests[i],
                         values{e.run->single->result_names, results_of_one(all.items(), *kind.axes, i)});
    } catch (const error&) {
      core->run_alone(e.run->requests);
    }
    --state_.running_joints;
    e.run->requests.clear();
    e.state->feeds.clear();
    e.run->memory->close();
  }

  void lose_patience(const std::shared_ptr<cut_run>& with) {
    const auto run = front_run();
    const auto core = state_.core.lock();
    if (run != with || !core || state_.prepared)
      return;
    core->finish_cut(run->whole(), std::make_exception_ptr(error{
                                       errc::out_of_memory, "memory for the results of a request that is "
                                                            "cut is held by callers; " +
                                                                core->ledger().report()}));
    state_.waiting.pop_front();
    go_on();
  }

private:
  [[nodiscard]] std::shared_ptr<cut_run> front_run() const {
    return state_.waiting.empty() ? nullptr : state_.waiting.front();
  }

  /// False if it waits for memory. What cannot be cut has its outcome, and is not prepared.
  bool prepare(session_core& core, const std::shared_ptr<cut_run>& run) {
    if (run->whole().ready())
      return true;
    const auto attempt = [&] { return run->prepare(core.resources_for_cuts(), state_.learned); };
    try {
      state_.prepared = attempt();
      if (state_.prepared)
        return true;
      // Bytes may have become free before we were on the list of those who wait: try once more.
      core.ledger().when_freed(
          [me = caf::actor_cast<caf::actor>(self_)] { caf::anon_send(me, memory_freed::value); });
      state_.prepared = attempt();
      if (!state_.prepared)
        self_->delayed_send(self_, patience_with_holders, out_of_patience{run});
      return state_.prepared;
    } catch (const error&) {
      core.finish_cut(run->whole(), std::current_exception());
      return true;
    }
  }

  void start_parts(session_core& core, const std::shared_ptr<cut_run>& run) {
    auto& schedule = run->schedule();
    while (const auto items = schedule.next_items()) {
      std::shared_ptr<const executable_plan> plan;
      std::exception_ptr failure;
      try {
        plan = plan_of(core, *run, *items);
      } catch (const error&) {
        failure = std::current_exception();
      }
      const auto p = schedule.start(self_->clock().now());
      if (failure) {
        schedule.failed(p, failure);
        return;
      }
      try {
        auto r = core.make_part(run->whole(), plan, run->feeds_of(p), run->into_of(p));
        state_.parts.push_back({p, r});
        r->when_ready([me = caf::actor_cast<caf::actor>(self_), run, p](run_state& s) {
          caf::anon_send(me, part_ended{run, p, intrusive_ptr<run_state>{&s}});
        });
        core.admit_part(*r);
      } catch (const error&) { // no memory to copy what goes into it
        schedule.failed(p, std::current_exception());
      }
    }
  }

  /// False if the requests cannot be joined, or not now.
  bool start_joint(session_core& core, const std::shared_ptr<joint_run>& run) try {
    auto& kind = kind_of(core, run->single);
    if (!kind.axes)
      return false;
    auto& plan = kind.plans[run->requests.size()];
    if (!plan)
      plan = core.make_part_plan(
          request_for_items(core.request_of(*run->single), *kind.axes,
                            kind.axes->items * static_cast<std::int64_t>(run->requests.size())),
          *run->single->result_names);
    memory_lease lease;
    if (core.ledger().try_lease(joint_feed_bytes(*run, *kind.axes), memory_use::frames, lease) !=
        lease_outcome::granted)
      return false;
    run->memory = new frame_memory{core.ledger().name(), core.setup().blocks};
    run->memory->open({}, std::move(lease));
    auto feeds = joint_feeds(*run, *kind.axes);
    if (!feeds) {
      run->memory->close();
      return false;
    }
    auto r = core.make_part(*run->requests.front(), plan, std::move(*feeds), {});
    r->when_ready([me = caf::actor_cast<caf::actor>(self_), run](run_state& s) {
      caf::anon_send(me, joint_ended{run, intrusive_ptr<run_state>{&s}});
    });
    ++state_.running_joints;
    core.admit_part(*r);
    return true;
  } catch (const error&) { // no memory, or no plan for so many
    return false;
  }

  joint_kind& kind_of(session_core& core, const std::shared_ptr<const executable_plan>& single) {
    if (const auto known = state_.joints.find(single.get()); known != state_.joints.end())
      return known->second;
    if (state_.joints.size() == most_kinds && state_.running_joints == 0)
      state_.joints.clear();
    auto& kind = state_.joints[single.get()];
    kind.single = single;
    auto verdict = find_batch_axes(*core.setup().model, *core.setup().operators, core.constants(),
                                   core.request_of(*single));
    kind.axes = std::move(verdict.axes);
    if (!kind.axes)
      single->joinable.store(false, std::memory_order_relaxed);
    core.note_cut(kind.axes ? "requests that wait are joined, up to " +
                                  std::to_string(core.setup().options.join_requests) + " into one batch\n"
                            : "requests that wait are not joined: " + verdict.reason + '\n');
    return kind;
  }

  /// The plan for parts of `items`, made if need be; plans of sizes that are no longer used go first.
  static std::shared_ptr<const executable_plan> plan_of(session_core& core, cut_run& run,
                                                        std::int64_t items) {
    if (auto kept = run.plan_for(items))
      return kept;
    run.forget_plans_but(run.schedule().search().items());
    auto made = core.make_part_plan(run.request_for(items), *run.result_names());
    run.keep_plan(items, made);
    return made;
  }

  void cancel_unwanted() {
    const auto run = front_run();
    const auto core = state_.core.lock();
    if (!run || !core || !state_.prepared)
      return;
    for (const auto& p : state_.parts)
      if (!run->schedule().wanted(p.part))
        core->cancel(*p.state);
  }

  void finish(session_core& core, cut_run& run) {
    if (state_.prepared) {
      const auto& search = run.schedule().search();
      if (!search.times().empty() && state_.learned.size() < most_kinds)
        state_.learned[run.kind()] = run.experience();
      if (!run.schedule().failure())
        core.note_cut(run.explain());
    }
    core.finish_cut(run.whole(), run.outcome());
    state_.prepared = false;
    state_.parts.clear();
    state_.waiting.pop_front();
  }

  caf::stateful_actor<batching_state>* const self_;
  batching_state& state_;
};

caf::behavior batching_behavior(caf::stateful_actor<batching_state>* self,
                                const std::weak_ptr<session_core>& weak) {
  self->state.core = weak;
  self->set_default_handler(caf::drop);
  return {
      [self](const cut_order& order) { batching{self}.order(order.run); },
      [self](const part_ended& e) { batching{self}.ended(e); },
      [self](const joint_order& order) { batching{self}.join(order.run); },
      [self](const joint_ended& e) { batching{self}.finish_joint(e); },
      [self](memory_freed) { batching{self}.go_on(); },
      [self](look_at_stopped) { batching{self}.look_at_stopped(); },
      [self](const out_of_patience& o) { batching{self}.lose_patience(o.run); },
  };
}

} // namespace

caf::actor spawn_batching_actor(caf::actor_system& system, std::weak_ptr<session_core> core) {
  return system.spawn(batching_behavior, std::move(core));
}

void cut_request(const caf::actor& batching, oversized_request what) {
  caf::anon_send(batching, cut_order{std::make_shared<cut_run>(std::move(what))});
}

void join_requests(const caf::actor& batching, std::vector<intrusive_ptr<run_state>> requests) {
  auto run = std::make_shared<joint_run>();
  run->single = requests.front()->plan;
  run->requests = std::move(requests);
  caf::anon_send(batching, joint_order{std::move(run)});
}

void stop_parts(const caf::actor& batching) {
  caf::anon_send(batching, look_at_stopped::value);
}

} // namespace sluice
