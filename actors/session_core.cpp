#include <sluice/actors/session_core.hpp>

#include <sluice/actors/session_actor.hpp>

#include <caf/actor_clock.hpp>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iostream>
#include <new>

namespace sluice {

namespace {

using namespace std::chrono_literals;

/// How long a request waits for results that callers hold, if it has no deadline of its own.
constexpr auto patience_with_holders = 5s;
/// More than any wait needs, and little enough to be added to any time.
constexpr std::chrono::nanoseconds longest_wait = 24h * 365 * 10;

std::exception_ptr make_error_ptr(errc code, const std::string& text) {
  return std::make_exception_ptr(error{code, text});
}

std::size_t bytes_of(std::span<const value> constants) {
  std::size_t bytes = 0;
  for (const auto& v : constants)
    if (v.is(value_kind::tensor))
      bytes += v.tensor().bytes();
  return bytes;
}

memory_lease lease_or_throw(memory_ledger& ledger, std::size_t bytes, memory_use use,
                            const std::string& what) {
  memory_lease lease;
  if (ledger.try_lease(bytes, use, lease) != lease_outcome::granted)
    throw error{errc::out_of_memory, what + " takes " + std::to_string(bytes) + " bytes; " + ledger.report()};
  return lease;
}

/// A value of a frame that comes from outside, delivered on a worker.
struct external_delivery final : job {
  external_delivery(frame& f, std::size_t p, value v) : to(f), position(p), content(std::move(v)) {}
  void run(worker& here) noexcept override {
    const next_frames::turn turn{here};
    {
      firing_loop loop{here, to};
      for (const auto& direct : to.plan->source->direct)
        if (direct.fed == to.plan->source->fed[position].edge)
          to.results[direct.result] = content;
      auto given = content;
      send(to, to.plan->feed_routes[position], {&given, 1}, loop);
      loop.drain();
    }
    to.release(here);
    delete this;
  }
  frame& to;
  const std::size_t position;
  const value content;
};

/// Looks at the queue again, on a worker.
struct retry_job final : job {
  explicit retry_job(std::function<void()> f) : retry(std::move(f)) {}
  void run(worker& here) noexcept override {
    {
      const next_frames::turn turn{here};
      retry();
    }
    delete this;
  }
  const std::function<void()> retry;
};

void copy_into(const value& from, const value& to, const std::string& name) {
  const auto& source = from.tensor();
  const auto& target = to.tensor();
  if (source.type() != target.type() || source.shape() != target.shape())
    throw error{errc::invalid_argument,
                "result '" + name + "' is " + describe(from) + "; the caller's buffer is " + describe(to)};
  if (source.bytes() > 0)
    std::memcpy(const_cast<void*>(target.raw()), source.raw(), source.bytes());
}

} // namespace

session_core::session_core(session_setup setup, caf::actor_system& system)
  : setup_(std::move(setup)),
    ledger_(memory_ledger::make("session '" + setup_.options.name + '\'',
                                setup_.options.memory_budget.contains(setup_.device->name())
                                    ? setup_.options.memory_budget.at(setup_.device->name())
                                    : memory_ledger::unlimited,
                                setup_.device)),
    services_{.system = system,
              .threads = setup_.threads,
              .blocking = setup_.blocking,
              .kernels = std::make_shared<kernel_cache>(setup_.operators),
              .seed = setup_.options.seed,
              .stepped = setup_.threads->stepped(),
              .width = setup_.intra_op},
    runtime_(setup_.model, services_, setup_.window),
    constants_(fold_constants(*setup_.model, *setup_.operators, memory::heap())),
    weights_(lease_or_throw(*ledger_, bytes_of(constants_), memory_use::weights, "the weights")),
    packed_(lease_or_throw(*ledger_, 0, memory_use::packed, "packing")),
    plans_(*setup_.model, setup_.intra_op), entrance_(setup_.window, setup_.options.queue_limit),
    running_(setup_.window), frame_memories_(setup_.window) {}

session_core::~session_core() {
  close(0s);
}

void session_core::start() {
  runtime_.for_each_cell([this](node_cell& cell) { static_cast<void>(spawn_node(cell)); });
  placement_actor_ = spawn_placement_actor(services_.system, weak_from_this());
  std::vector<caf::actor> nodes;
  for (const auto& [cell, actor] : node_actors_)
    nodes.push_back(actor);
  session_actor_ = spawn_session_actor(services_.system, weak_from_this(), std::move(nodes));
}

caf::actor session_core::spawn_node(node_cell& cell) {
  auto handle = services_.system.spawn<node_actor, caf::hidden>(
      cell, std::weak_ptr<node_actor::host>{shared_from_this()});
  cells_by_actor_.insert_or_assign(handle.address(), &cell);
  node_actors_.insert_or_assign(&cell, handle);
  cell.actor.store(static_cast<node_actor*>(caf::actor_cast<caf::abstract_actor*>(handle)),
                   std::memory_order_release);
  return handle;
}

intrusive_ptr<run_state> session_core::submit(feeds inputs, const run_options& options, bool guest,
                                              std::vector<value> into, std::vector<std::string> external,
                                              std::function<void(std::uint64_t)> when_opened) {
  intrusive_ptr<run_state> r{new run_state{setup_.threads}};
  r->keeps_session = shared_from_this();
  r->session = r->keeps_session;
  try {
    auto resolved = plans_.resolve(inputs, options.fetch, external);
    r->feeds = std::move(resolved.feeds);
    r->external = std::move(resolved.external);
    r->into = std::move(into);
    r->priority = options.priority;
    r->when_opened = std::move(when_opened);
    if (options.stop.stop_possible())
      r->stop_by(options.stop);
    if (resolved.plan) {
      r->plan = std::move(resolved.plan);
      admit(*r, guest, &options);
      return r;
    }
    const std::lock_guard lock{mutex_};
    if (life_ != life::open)
      throw closed_error();
    if (r->stopped_by)
      return r; // whoever stopped it answers
    begin_deadline(*r, options);
    set_deadline(*r);
    if (plans_.wait_for(resolved.order->key, *r))
      ask_for_plan(placement_actor_, std::move(resolved.order));
  } catch (const error&) {
    r->settle(std::current_exception(), false);
  } catch (const std::bad_alloc&) {
    r->settle(make_error_ptr(errc::out_of_memory, "the process has no memory for another run"), false);
  }
  return r;
}

error session_core::closed_error() const {
  return error{errc::engine_closed, "session '" + setup_.options.name + "' is closed"};
}

void session_core::begin_deadline(run_state& r, const run_options& options) {
  if (options.deadline.count() > 0)
    r.deadline = services_.system.clock().now() + std::min(options.deadline, longest_wait);
}

void session_core::admit(run_state& r, bool guest, const run_options* fresh) {
  std::unique_lock lock{mutex_};
  frame* f = nullptr;
  try {
    if (fresh && life_ == life::open)
      begin_deadline(r, *fresh);
    for (;;) {
      if (r.stopped_by)
        return; // whoever stopped it answers
      if (life_ == life::closed || (fresh && life_ == life::draining))
        throw closed_error();
      if (entrance_.queue_empty() && (f = try_open(r)))
        break;
      set_deadline(r);
      if (!entrance_.queue_full()) {
        entrance_.enqueue(r);
        return;
      }
      if (!guest)
        throw error{errc::queue_full, "session '" + setup_.options.name + "' has " +
                                          std::to_string(entrance_.queued()) + " requests waiting already"};
      changed_.wait(lock, [&] { return life_ != life::open || r.stopped_by || !entrance_.queue_full(); });
    }
    set_deadline(r);
  } catch (const error&) {
    forget_deadline(r);
    lock.unlock();
    r.settle(std::current_exception(), false);
    return;
  }
  lock.unlock();
  opened(*f, r);
  if (!guest) {
    next_frames::start_later(*f, *setup_.threads);
    return;
  }
  const next_frames::guest here;
  if (!setup_.threads->try_guest(*f))
    setup_.threads->submit(*f);
}

frame* session_core::try_open(run_state& r) {
  if (nodes_down_ > 0 || !entrance_.slot_free())
    return nullptr;
  const auto bytes = r.plan->frame_bytes();
  memory_lease lease;
  auto outcome = ledger_->try_lease(bytes, memory_use::frames, lease);
  if (outcome == lease_outcome::never_fits)
    throw error{errc::out_of_memory,
                "a frame needs " + std::to_string(bytes) + " bytes; " + ledger_->report()};
  if (outcome == lease_outcome::full) {
    // Somebody may have given bytes back before we were on the list of those who wait: try once more.
    watch_memory();
    if (ledger_->try_lease(bytes, memory_use::frames, lease) != lease_outcome::granted) {
      r.waits_for_memory = true;
      if (!r.deadline) {
        r.deadline = services_.system.clock().now() + patience_with_holders;
        r.deadline_of_patience = true;
      }
      return nullptr;
    }
  }
  r.waits_for_memory = false;
  if (r.deadline_of_patience) {
    forget_deadline(r);
    r.deadline.reset();
    r.deadline_of_patience = false;
  }
  const auto slot = entrance_.take_slot();
  auto& f = runtime_.slot(slot);
  auto& memory = frame_memories_[slot];
  if (!memory || !memory->reusable()) {
    memory = nullptr;
    memory = new frame_memory{ledger_->name()};
  }
  memory->open(std::move(lease));
  f.memory = memory;
  f.number = ++frames_opened_;
  f.opened_after_kill = services_.kills.load(std::memory_order_relaxed);
  f.trace = services_.trace.load(std::memory_order_acquire);
  // Complete before anybody else sees it: from now on it may be stopped, or be sent tokens.
  f.open(r.plan, std::move(r.feeds), nullptr, *this);
  f.shared = f.shared || !r.external.empty();
  running_[slot] = &r;
  r.slot = slot;
  if (!busy_)
    busy_ = shared_from_this();
  if (!r.external.empty()) {
    f.activities.fetch_add(static_cast<std::uint32_t>(r.external.size()), std::memory_order_relaxed);
    external_frames_.emplace(f.number, slot);
  }
  return &f;
}

void session_core::watch_memory() {
  if (std::exchange(memory_watched_, true))
    return;
  ledger_->when_freed([alive = weak_from_this(), threads = setup_.threads] {
    threads->submit(*new retry_job{[alive] {
      if (const auto self = alive.lock())
        self->admit_waiting(true);
    }});
  });
}

void session_core::opened(frame& f, run_state& r) {
  for (auto* cell : f.plan->absent_stateful)
    if (auto* next = cell->order->skip(f.number)) {
      auto& waiting = next->state(cell->state_offset);
      waiting.has_turn = true;
      setup_.threads->submit(waiting);
    }
  // Whether it pays to expect work is looked at again as costs become known.
  if (std::has_single_bit(f.number) || f.number % 256 == 0)
    expects_forks_.store(f.plan->forks(), std::memory_order_relaxed);
  f.in_burst = expects_forks_.load(std::memory_order_relaxed);
  if (f.in_burst)
    setup_.threads->begin_burst();
  if (r.when_opened)
    r.when_opened(f.number);
}

frame* session_core::open_next(std::vector<intrusive_ptr<run_state>>& refused) {
  while (auto* const r = entrance_.front()) {
    try {
      auto* const f = try_open(*r);
      if (f)
        static_cast<void>(entrance_.remove(*r));
      else
        set_deadline(*r);
      return f;
    } catch (const error&) {
      r->stopped_by = std::current_exception();
      forget_deadline(*r);
      refused.push_back(entrance_.remove(*r));
    }
  }
  return nullptr;
}

void session_core::admit_waiting(bool memory_freed) {
  for (;;) {
    std::vector<intrusive_ptr<run_state>> refused;
    frame* f = nullptr;
    intrusive_ptr<run_state> r;
    {
      const std::lock_guard lock{mutex_};
      if (std::exchange(memory_freed, false))
        memory_watched_ = false;
      f = open_next(refused);
      if (f)
        r = running_[f->slot];
      changed_.notify_all();
    }
    for (const auto& lost : refused)
      lost->settle(lost->stopped_by, false);
    if (!f)
      return;
    opened(*f, *r);
    next_frames::start_later(*f, *setup_.threads);
  }
}

void session_core::on_quiescent(frame& f, worker&) noexcept {
  const auto r = running_[f.slot]; // nobody changes it while the frame has the slot
  const auto on_worker = !next_frames::is_guest();
  if (f.in_burst)
    setup_.threads->end_burst();
  auto outcome = outcome_of(f, *r);
  r->plan->note_frame_bytes(f.memory->peak());
  f.memory->close();
  f.memory = nullptr;

  std::shared_ptr<session_core> self; // the last handle may go with the outcome
  std::vector<intrusive_ptr<run_state>> refused;
  std::vector<caf::actor> dead;
  frame* next = nullptr;
  intrusive_ptr<run_state> next_request;
  std::exception_ptr stopped_by;
  bool last = false;
  {
    const std::lock_guard lock{mutex_};
    running_[f.slot] = nullptr;
    r->slot.reset();
    stopped_by = r->stopped_by;
    if (!external_frames_.empty())
      external_frames_.erase(f.number); // also if its tokens have all come
    forget_deadline(*r);
    entrance_.give_slot(f.slot);
    next = open_next(refused);
    if (next)
      next_request = running_[next->slot];
    if (entrance_.in_flight() == 0) {
      self = std::move(busy_);
      dead.swap(dead_actors_); // nobody calls them any more
      last = life_ == life::closed;
    }
    changed_.notify_all();
  }
  if (stopped_by)
    outcome = std::move(stopped_by);
  for (const auto& lost : refused)
    lost->settle(lost->stopped_by, on_worker);
  if (next) {
    opened(*next, *next_request);
    next_frames::start_later(*next, *setup_.threads);
  }
  r->settle(std::move(outcome), on_worker);
  if (last)
    end_actors();
}

run_state::outcome session_core::outcome_of(frame& f, run_state& r) {
  auto results = std::move(f.results);
  f.results.clear();
  f.feeds.clear();
  if (f.failure)
    return std::exchange(f.failure, nullptr);
  if (!r.into.empty()) {
    try {
      for (std::size_t i = 0; i < r.into.size(); ++i) {
        if (r.into[i].empty())
          continue;
        copy_into(results[i], r.into[i], (*f.plan->result_names)[i]);
        results[i] = r.into[i];
      }
    } catch (const error&) {
      return std::current_exception();
    }
  }
  return values{f.plan->result_names, std::move(results)};
}

void session_core::cancel(run_state& r) {
  const intrusive_ptr<run_state> keep{&r};
  if (r.ready())
    return;
  const auto why = make_error_ptr(errc::cancelled, "the run was cancelled");
  bool others_may_fit = false;
  {
    const std::lock_guard lock{mutex_};
    if (r.stopped_by)
      return; // somebody else answers
    r.stopped_by = why;
    forget_deadline(r);
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
  if (others_may_fit)
    admit_waiting();
}

void session_core::stop_frame(frame& f, run_state& r) {
  f.stop();
  for (const auto position : std::exchange(r.external, {}))
    deliver_external(f, position, {});
  external_frames_.erase(f.number);
}

void session_core::deliver_external(frame& f, std::size_t fed, value v) {
  setup_.threads->submit(*new external_delivery{f, fed, std::move(v)});
}

void session_core::set_deadline(run_state& r) {
  if (!r.deadline)
    return;
  const auto [first, last] = deadlines_.equal_range(*r.deadline);
  if (std::any_of(first, last, [&](const auto& entry) { return entry.second.get() == &r; }))
    return;
  deadlines_.emplace(*r.deadline, intrusive_ptr<run_state>{&r});
  look_at_deadlines();
}

void session_core::forget_deadline(run_state& r) {
  if (!r.deadline)
    return;
  const auto [first, last] = deadlines_.equal_range(*r.deadline);
  const auto at = std::find_if(first, last, [&](const auto& entry) { return entry.second.get() == &r; });
  if (at != last)
    deadlines_.erase(at);
}

void session_core::look_at_deadlines() {
  if (deadlines_.empty() || life_ == life::closed)
    return;
  // One message is on its way at most, but for those that an earlier deadline overtook.
  const auto first = deadlines_.begin()->first;
  if (next_look_ && *next_look_ <= first)
    return;
  next_look_ = first;
  tick_at(services_.system, session_actor_, first);
}

void session_core::expire(run_state::clock::time_point now) {
  std::vector<intrusive_ptr<run_state>> late;
  bool others_may_fit = false;
  {
    const std::lock_guard lock{mutex_};
    if (next_look_ && *next_look_ <= now)
      next_look_.reset();
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      auto r = deadlines_.begin()->second;
      deadlines_.erase(deadlines_.begin());
      const auto waits = r->waits_for_memory && r->queued;
      const auto held_up = waits && setup_.device->in_use(memory_use::held) > 0;
      if (r->deadline_of_patience && !held_up) {
        // Only frames in flight are in its way, and they end.
        r->deadline = now + patience_with_holders;
        set_deadline(*r);
        continue;
      }
      others_may_fit = others_may_fit || waits;
      r->stopped_by = held_up
                          ? make_error_ptr(errc::out_of_memory, out_of_memory_text(*r->plan))
                          : make_error_ptr(errc::deadline_exceeded,
                                           r->queued ? "the deadline passed while the run waited in the queue"
                                                     : "the deadline passed while the run was under way");
      if (r->queued)
        static_cast<void>(entrance_.remove(*r));
      else if (r->slot)
        stop_frame(runtime_.slot(*r->slot), *r);
      if (!r->slot || r->into.empty())
        late.push_back(std::move(r));
    }
    look_at_deadlines();
    changed_.notify_all();
  }
  for (const auto& r : late) {
    plans_.leave(*r);
    r->settle(r->stopped_by, false);
  }
  if (others_may_fit)
    admit_waiting();
}

std::string session_core::out_of_memory_text(const executable_plan& p) const {
  std::size_t results = 0;
  for (const auto& memory : frame_memories_)
    if (memory && memory->allocated() > 0)
      ++results;
  return "a frame needs " + std::to_string(p.frame_bytes()) + " bytes; " +
         std::to_string(ledger_->in_use(memory_use::held)) + " bytes in " + std::to_string(results) +
         " results held by callers; " + setup_.device->report();
}

void session_core::callback_failed(const std::string& what) noexcept {
  callbacks_failed_.fetch_add(1, std::memory_order_relaxed);
  std::clog << "sluice: a callback of session '" + setup_.options.name + "' threw: " + what + '\n';
}

std::shared_ptr<const executable_plan> session_core::make_plan(const plan_book::ticket& t) {
  auto made = runtime_.bind(sluice::make_plan(setup_.model, constants_, t.request, *services_.kernels));
  const_cast<executable_plan&>(*made).result_names =
      std::make_shared<const std::vector<std::string>>(t.result_names);
  const std::lock_guard lock{mutex_};
  const auto packed = services_.kernels->packed_bytes();
  if (packed > packed_.bytes() && !packed_.try_grow(packed - packed_.bytes()))
    throw error{errc::out_of_memory,
                "packed weights take " + std::to_string(packed) + " bytes; " + ledger_->report()};
  return made;
}

void session_core::plan_ready(const plan_book::ticket& t, std::shared_ptr<const executable_plan> p,
                              std::exception_ptr failure) {
  for (const auto& r : plans_.file(t.key, p)) {
    if (!failure) {
      r->plan = p;
      admit(*r, false, nullptr);
      continue;
    }
    {
      const std::lock_guard lock{mutex_};
      forget_deadline(*r);
    }
    r->settle(failure, true);
  }
  const std::lock_guard lock{mutex_};
  changed_.notify_all(); // close() waits for those who wait for plans, too
}

std::string session_core::take_token(node_cell& cell, std::uint64_t number, std::uint32_t port, value v) {
  const std::lock_guard lock{mutex_};
  const auto at = external_frames_.find(number);
  if (at == external_frames_.end())
    return "frame " + std::to_string(number) +
           " takes no tokens: it is not open, or was not opened with external inputs";
  if (&runtime_.cells()[cell.index] != &cell || port >= cell.node->inputs.size())
    return "node '" + cell.node->name + "' has no such input of an open frame";
  auto& r = *running_[at->second];
  const auto e = cell.node->inputs[port];
  const auto position = std::find_if(r.external.begin(), r.external.end(),
                                     [&](auto p) { return r.plan->source->fed[p].edge == e; });
  if (position == r.external.end())
    return "input " + std::to_string(port) + " of node '" + cell.node->name + "' is not external to frame " +
           std::to_string(number) + ", or has come already";
  const auto& type = setup_.model->at_edge(e).type;
  if (v.empty() || !type.admits(v))
    return "the value takes " + to_string(type) + ", not " + describe(v);
  const auto fed = *position;
  r.external.erase(position);
  deliver_external(runtime_.slot(at->second), fed, std::move(v));
  return {};
}

void session_core::node_killed(node_cell& cell) noexcept {
  const std::lock_guard lock{mutex_};
  ++nodes_down_;
  // Released, so that a frame that is opened later, and by its number does not fail, meets the successor.
  cell.killed.store(services_.kills.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release);
  for (std::uint32_t slot = 0; slot < running_.size(); ++slot)
    if (running_[slot])
      runtime_.slot(slot).bereave();
}

void session_core::restart_node(const caf::actor_addr& dead) {
  {
    const std::lock_guard lock{mutex_};
    const auto at = cells_by_actor_.find(dead);
    if (at == cells_by_actor_.end() || life_ == life::closed)
      return;
    auto& cell = *at->second;
    cells_by_actor_.erase(at);
    dead_actors_.push_back(node_actors_.at(&cell));
    monitor_node(session_actor_, spawn_node(cell));
    --nodes_down_;
  }
  admit_waiting();
}

std::optional<caf::actor> session_core::node(std::string_view name) {
  auto* const cell = runtime_.find(name);
  if (!cell)
    return std::nullopt;
  const std::lock_guard lock{mutex_};
  const auto at = node_actors_.find(cell);
  return at == node_actors_.end() ? std::nullopt : std::optional{at->second};
}

void session_core::start_trace() {
  const std::lock_guard lock{mutex_};
  if (!tracer_)
    tracer_ = std::make_unique<tracer>();
  services_.trace.store(tracer_.get(), std::memory_order_release);
}

void session_core::write_trace(std::ostream& to) const {
  const auto* const t = services_.trace.load(std::memory_order_acquire);
  if (!t)
    throw error{errc::invalid_argument,
                "session '" + setup_.options.name + "' records no trace: call start_trace() first"};
  t->write(to);
}

std::string session_core::explain(std::string_view name) {
  auto* const cell = runtime_.find(name);
  if (!cell)
    throw error{errc::invalid_argument,
                "session '" + setup_.options.name + "' has no node '" + std::string{name} + '\''};
  const auto newest = plans_.newest();
  const auto ns = cell->cost_ns.load(std::memory_order_relaxed);
  auto text = title(*cell->node) + "\n  device: cpu:0, the only one";
  if (!cell->node->device.empty())
    text += " (the graph asks for '" + cell->node->device + "')";
  text += "\n  cost: " + (ns < 0 ? "not known yet" : std::to_string(ns / 1000) + " us a firing");
  const auto top_level = newest && &runtime_.cells()[cell->index] == cell;
  if (top_level && newest->source->step_of[cell->index] == plan::no_step) {
    text += "\n  not executed: its value is known when the plan is made, or nobody asks for it";
  } else if (top_level) {
    const auto& step = newest->source->steps[newest->source->step_of[cell->index]];
    text += "\n  kernel: " + std::string{step.kernel || cell->node->function
                                             ? "prepared with the plan"
                                             : "prepared at firing, for the shapes that arrive"};
    text += "\n  width: at most " + std::to_string(newest->source->width) + " threads";
    for (const auto& t : step.output_types)
      text += "\n  output: " + to_string(t);
  }
  return text + '\n';
}

std::uint32_t session_core::in_flight() {
  const std::lock_guard lock{mutex_};
  return entrance_.in_flight();
}

bool session_core::at_rest() {
  bool rest = in_flight() == 0;
  const auto idle = [](frame& f, node_cell& cell) {
    auto& state = f.state(cell.state_offset);
    if (state.arrived.load() != 0 || state.has_turn || f.activities.load() != 0 || !f.results.empty() ||
        !f.feeds.empty())
      return false;
    std::vector<const value_body*> bound(state.input_count);
    const auto step = f.plan ? f.plan->source->step_of[cell.index] : plan::no_step;
    if (step != plan::no_step)
      for (const auto& c : f.plan->source->steps[step].constants)
        bound[c.port] = c.constant.body();
    return std::equal(bound.begin(), bound.end(), state.inputs(),
                      [](const value_body* b, const value& v) { return b == v.body(); });
  };
  const std::function<void(graph_runtime&)> look = [&](graph_runtime& rt) {
    for (auto& cell : rt.cells()) {
      rest = rest && (!cell.order || cell.order->idle());
      for (std::uint32_t s = 0; s < rt.window(); ++s)
        rest = rest && idle(rt.slot(s), cell);
      for (auto& body : cell.bodies)
        look(*body);
    }
  };
  look(runtime_);
  return rest;
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
        return entrance_.in_flight() == 0 && entrance_.queue_empty() && plans_.nobody_waits();
      });
    life_ = life::closed;
    left = entrance_.take_all();
    for (auto& r : plans_.take_waiting())
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
  for (const auto& [cell, actor] : node_actors_)
    static_cast<node_actor*>(caf::actor_cast<caf::abstract_actor*>(actor))
        ->cleanup(caf::exit_reason::user_shutdown, nullptr);
  if (session_actor_)
    end_session_actor(session_actor_);
  if (placement_actor_)
    caf::anon_send_exit(placement_actor_, caf::exit_reason::user_shutdown);
  const std::lock_guard lock{mutex_};
  actors_ended_ = true;
  changed_.notify_all();
}

} // namespace sluice
