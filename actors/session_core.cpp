#include <sluice/actors/session_core.hpp>

#include <sluice/actors/session_actor.hpp>

#include <caf/actor_clock.hpp>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice {

namespace {

using namespace std::chrono_literals;

/// How long a request waits for results that callers hold, if it has no deadline of its own.
constexpr auto patience_with_holders = 5s;

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
      firing_loop loop{here, to.runtime.services().stepped};
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
  try {
    auto resolved = plans_.resolve(inputs, options.fetch, external);
    r->session = weak_from_this();
    r->feeds = std::move(resolved.feeds);
    r->external = std::move(resolved.external);
    r->into = std::move(into);
    r->priority = options.priority;
    r->when_opened = std::move(when_opened);
    if (options.deadline.count() > 0)
      r->deadline = services_.system.clock().now() + options.deadline;
    if (options.stop.stop_possible())
      r->stop.emplace(options.stop, [this, state = r.get(), alive = weak_from_this()] {
        if (const auto self = alive.lock())
          cancel(*state);
      });
    if (resolved.plan) {
      r->plan = std::move(resolved.plan);
      admit(*r, guest);
      return r;
    }
    {
      const std::lock_guard lock{mutex_};
      if (closed_)
        throw error{errc::engine_closed, "session '" + setup_.options.name + "' is closed"};
      set_deadline(*r);
    }
    if (plans_.wait_for(resolved.order->key, *r))
      ask_for_plan(placement_actor_, std::move(resolved.order));
  } catch (const error&) {
    r->settle(std::current_exception(), false);
  }
  return r;
}

void session_core::admit(run_state& r, bool guest) {
  std::unique_lock lock{mutex_};
  frame* f = nullptr;
  try {
    for (;;) {
      if (closed_)
        throw error{errc::engine_closed, "session '" + setup_.options.name + "' is closed"};
      if (entrance_.queue_empty() && (f = try_open(r)))
        break;
      if (!entrance_.queue_full()) {
        set_deadline(r);
        entrance_.enqueue(r);
        return;
      }
      if (!guest)
        throw error{errc::queue_full, "session '" + setup_.options.name + "' has " +
                                          std::to_string(entrance_.queued()) + " requests waiting already"};
      changed_.wait(lock, [this] { return closed_ || !entrance_.queue_full(); });
    }
    set_deadline(r);
  } catch (const error&) {
    lock.unlock();
    r.settle(std::current_exception(), false);
    return;
  }
  lock.unlock();
  open(*f, r);
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
  const auto high = r.plan->high_water.load(std::memory_order_relaxed);
  const auto bytes = high ? high : r.plan->source->bytes;
  memory_lease lease;
  auto outcome = ledger_->try_lease(bytes, memory_use::frames, lease);
  if (outcome == lease_outcome::never_fits)
    throw error{errc::out_of_memory,
                "a frame needs " + std::to_string(bytes) + " bytes; " + ledger_->report()};
  if (outcome == lease_outcome::full) {
    // Somebody may have given bytes back before we were on the list of those who wait: try once more.
    ledger_->when_freed([alive = weak_from_this(), threads = setup_.threads] {
      threads->submit(*new retry_job{[alive] {
        if (const auto self = alive.lock())
          self->admit_waiting();
      }});
    });
    if (ledger_->try_lease(bytes, memory_use::frames, lease) != lease_outcome::granted) {
      if (!r.waits_for_memory && !r.deadline && ledger_->in_use(memory_use::held) > 0)
        r.deadline = services_.system.clock().now() + patience_with_holders;
      r.waits_for_memory = true;
      return nullptr;
    }
  }
  r.waits_for_memory = false;
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
  running_[slot] = &r;
  r.slot = slot;
  if (!r.external.empty())
    external_frames_.emplace(f.number, slot);
  return &f;
}

void session_core::open(frame& f, run_state& r) {
  f.open(r.plan, std::move(r.feeds), nullptr, *this);
  f.trace = services_.trace.load(std::memory_order_acquire);
  f.shared = f.shared || !r.external.empty();
  f.activities.fetch_add(static_cast<std::uint32_t>(r.external.size()), std::memory_order_relaxed);
  for (auto* cell : r.plan->absent_stateful)
    if (auto* next = cell->order->skip(f.number)) {
      auto& waiting = next->state(cell->state_offset);
      waiting.has_turn = true;
      setup_.threads->submit(waiting);
    }
  // Whether it pays to expect work is looked at again as costs become known.
  if (std::has_single_bit(f.number) || f.number % 256 == 0)
    expects_forks_.store(r.plan->forks(), std::memory_order_relaxed);
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
      refused.push_back(entrance_.remove(*r));
    }
  }
  return nullptr;
}

void session_core::admit_waiting() {
  for (;;) {
    std::vector<intrusive_ptr<run_state>> refused;
    frame* f = nullptr;
    intrusive_ptr<run_state> r;
    {
      const std::lock_guard lock{mutex_};
      f = open_next(refused);
      if (f)
        r = running_[f->slot];
      changed_.notify_all();
    }
    for (const auto& lost : refused)
      lost->settle(lost->stopped_by, false);
    if (!f)
      return;
    open(*f, *r);
    next_frames::start_later(*f, *setup_.threads);
  }
}

void session_core::on_quiescent(frame& f, worker&) noexcept {
  const auto r = running_[f.slot]; // nobody changes it while the frame has the slot
  const auto on_worker = !next_frames::is_guest();
  if (f.in_burst)
    setup_.threads->end_burst();
  auto outcome = outcome_of(f, *r);
  for (auto seen = r->plan->high_water.load(std::memory_order_relaxed), peak = f.memory->peak();
       seen < peak && !r->plan->high_water.compare_exchange_weak(seen, peak, std::memory_order_relaxed);) {
  }
  f.memory->close();

  const auto self = shared_from_this(); // the last handle may go with the outcome
  std::vector<intrusive_ptr<run_state>> refused;
  frame* next = nullptr;
  intrusive_ptr<run_state> next_request;
  {
    const std::lock_guard lock{mutex_};
    running_[f.slot] = nullptr;
    r->slot.reset();
    if (!r->external.empty())
      external_frames_.erase(f.number);
    if (r->deadline) {
      const auto [first, last] = deadlines_.equal_range(*r->deadline);
      const auto at = std::find_if(first, last, [&](const auto& entry) { return entry.second == r; });
      if (at != last)
        deadlines_.erase(at);
    }
    entrance_.give_slot(f.slot);
    next = open_next(refused);
    if (next)
      next_request = running_[next->slot];
    changed_.notify_all();
  }
  for (const auto& lost : refused)
    lost->settle(lost->stopped_by, on_worker);
  if (next) {
    open(*next, *next_request);
    next_frames::start_later(*next, *setup_.threads);
  }
  r->settle(std::move(outcome), on_worker);
}

run_state::outcome session_core::outcome_of(frame& f, run_state& r) {
  auto results = std::move(f.results);
  f.results.clear();
  f.feeds.clear();
  if (r.stopped_by)
    return r.stopped_by;
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
  const auto why = make_error_ptr(errc::cancelled, "the run was cancelled");
  intrusive_ptr<run_state> keep{&r};
  {
    const std::lock_guard lock{mutex_};
    if (r.queued)
      static_cast<void>(entrance_.remove(r));
    else if (r.slot) {
      r.stopped_by = why;
      stop_frame(runtime_.slot(*r.slot), r);
      if (!r.into.empty())
        return; // the frame may still write to the caller's memory: answered when it is quiescent
    }
    changed_.notify_all();
  }
  plans_.leave(r);
  r.settle(why, worker::current() != nullptr);
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
  const auto at = deadlines_.emplace(*r.deadline, intrusive_ptr<run_state>{&r});
  if (at == deadlines_.begin() && session_actor_)
    tick_at(services_.system, session_actor_, *r.deadline);
}

std::optional<run_state::clock::time_point> session_core::expire(run_state::clock::time_point now) {
  std::vector<intrusive_ptr<run_state>> late;
  std::optional<run_state::clock::time_point> next;
  {
    const std::lock_guard lock{mutex_};
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      auto r = deadlines_.begin()->second;
      deadlines_.erase(deadlines_.begin());
      const auto held = r->waits_for_memory && r->queued;
      r->stopped_by = held
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
    if (!deadlines_.empty())
      next = deadlines_.begin()->first;
    changed_.notify_all();
  }
  for (const auto& r : late) {
    plans_.leave(*r);
    r->settle(r->stopped_by, false);
  }
  return next;
}

std::string session_core::out_of_memory_text(const executable_plan& p) const {
  std::size_t results = 0;
  for (const auto& memory : frame_memories_)
    if (memory && memory->allocated() > 0)
      ++results;
  return "a frame needs " + std::to_string(p.high_water ? p.high_water.load() : p.source->bytes) +
         " bytes; " + std::to_string(ledger_->in_use(memory_use::held)) +
         " bytes in results are held by callers; " + ledger_->report();
}

void session_core::callback_failed(const std::string&) noexcept {
  callbacks_failed_.fetch_add(1);
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
    if (failure) {
      r->settle(failure, true);
      continue;
    }
    r->plan = p;
    admit(*r, false);
  }
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
}

void session_core::restart_node(const caf::actor_addr& dead) {
  {
    const std::lock_guard lock{mutex_};
    const auto at = cells_by_actor_.find(dead);
    if (at == cells_by_actor_.end() || closed_)
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
  if (!tracer_)
    throw error{errc::invalid_argument,
                "session '" + setup_.options.name + "' records no trace: call start_trace() first"};
  tracer_->write(to);
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
  const std::function<void(graph_runtime&)> look = [&](graph_runtime& rt) {
    for (auto& cell : rt.cells()) {
      rest = rest && (!cell.order || cell.order->idle());
      for (std::uint32_t s = 0; s < rt.window(); ++s)
        rest = rest && rt.slot(s).state(cell.state_offset).arrived.load() == 0 &&
               rt.slot(s).activities.load() == 0;
      for (auto& body : cell.bodies)
        look(*body);
    }
  };
  look(runtime_);
  return rest;
}

void session_core::close(std::chrono::nanoseconds drain) {
  std::vector<intrusive_ptr<run_state>> left;
  {
    std::unique_lock lock{mutex_};
    closed_ = true;
    changed_.notify_all();
    const auto quiet = [this] { return entrance_.in_flight() == 0 && entrance_.queue_empty(); };
    changed_.wait_for(lock, drain, quiet);
    left = entrance_.take_all();
    const auto why = make_error_ptr(errc::engine_closed, "session '" + setup_.options.name + "' was closed");
    for (auto& r : running_)
      if (r) {
        r->stopped_by = why;
        stop_frame(runtime_.slot(*r->slot), *r);
        left.push_back(r);
      }
  }
  for (auto& r : plans_.take_waiting())
    left.push_back(std::move(r));
  for (const auto& r : left)
    if (!r->slot || r->into.empty())
      r->settle(make_error_ptr(errc::engine_closed, "session '" + setup_.options.name + "' was closed"),
                false);
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [this] { return entrance_.in_flight() == 0; });
  if (std::exchange(actors_ended_, true))
    return;
  lock.unlock();
  for (const auto& [cell, actor] : node_actors_)
    static_cast<node_actor*>(caf::actor_cast<caf::abstract_actor*>(actor))
        ->cleanup(caf::exit_reason::user_shutdown, nullptr);
  for (const auto& actor : {session_actor_, placement_actor_})
    if (actor)
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
}

} // namespace sluice
