#include <sluice/actors/session_core.hpp>

#include <sluice/actors/batching_actor.hpp>
#include <sluice/actors/next_frames.hpp>
#include <sluice/actors/session_actor.hpp>
#include <sluice/actors/session_waits.hpp>

#include <caf/actor_clock.hpp>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <new>

namespace sluice {

namespace {

using namespace std::chrono_literals;

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
    throw error{errc::out_of_memory, what + " take " + std::to_string(bytes) + " bytes; " + ledger.report()};
  return lease;
}

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
                                budget_of(setup_.device->name(), setup_.options.memory_budget),
                                setup_.device)),
    devices_(setup_.devices, setup_.options, setup_.window), services_{.system = system,
                                                                       .threads = setup_.threads,
                                                                       .blocking = setup_.blocking,
                                                                       .kernels =
                                                                           std::make_shared<kernel_cache>(
                                                                               setup_.operators),
                                                                       .seed = setup_.options.seed,
                                                                       .stepped = setup_.threads->stepped(),
                                                                       .width = setup_.intra_op,
                                                                       .devices = &devices_},
    runtime_(setup_.model, services_, setup_.window),
    constants_(fold_constants(*setup_.model, *setup_.operators, memory::heap())),
    weights_(lease_or_throw(*ledger_, bytes_of(constants_), memory_use::weights, "the weights")),
    packed_(lease_or_throw(*ledger_, 0, memory_use::packed, "packed weights")),
    bounded_(ledger_->budget() != memory_ledger::unlimited ||
             setup_.device->budget() != memory_ledger::unlimited),
    plans_(*setup_.model, {.fed = {},
                           .fetch = {},
                           .width = setup_.intra_op,
                           .lanes = setup_.threads->concurrency(),
                           .order_for_memory = setup_.options.order_for_memory}),
    nodes_(runtime_), entrance_(setup_.window, setup_.options.queue_limit), running_(setup_.window),
    frame_memories_(setup_.window) {}

session_core::~session_core() {
  close(0s);
}

void session_core::start(std::vector<caf::actor> devices) {
  nodes_.start(weak_from_this());
  placement_actor_ = spawn_placement_actor(services_.system, weak_from_this(), std::move(devices));
  batching_actor_ = spawn_batching_actor(services_.system, weak_from_this());
  session_actor_ = spawn_session_actor(services_.system, weak_from_this(), nodes_.actors());
}

intrusive_ptr<run_state> session_core::submit(feeds inputs, const run_options& options, bool guest,
                                              std::vector<value> into, std::vector<std::string> external,
                                              std::function<void(std::uint64_t)> when_opened) {
  intrusive_ptr<run_state> r{new run_state{setup_.threads}};
  r->keeps_session = shared_from_this();
  r->session = r->keeps_session;
  r->into = std::move(into);
  r->priority = options.priority;
  r->when_opened = std::move(when_opened);
  try {
    if (options.deadline.count() < 0)
      throw error{errc::invalid_argument, "a deadline lies after the call, not before it; 0 means none"};
    if (options.stop.stop_possible())
      r->stop_by(options.stop);
    std::unique_lock lock{mutex_};
    if (!external.empty() || !recent_.resolve(inputs, options.fetch, *r)) {
      lock.unlock();
      auto resolved = plans_.resolve(inputs, options.fetch, external);
      lock.lock();
      r->feeds = std::move(resolved.feeds);
      r->external = std::move(resolved.external);
      if (!resolved.plan) {
        wait_for_plan(*r, std::move(resolved.order), options);
        return r;
      }
      r->plan = std::move(resolved.plan);
      if (external.empty())
        recent_.remember(inputs, std::move(resolved.positions), options.fetch, r->plan);
    }
    admit(*r, std::move(lock), guest, &options);
  } catch (const error&) {
    r->settle(std::current_exception(), false);
  } catch (const std::bad_alloc&) {
    r->settle(
        std::make_exception_ptr(error{errc::out_of_memory, "the process has no memory for another run"}),
        false);
  }
  return r;
}

void session_core::wait_for_plan(run_state& r, std::unique_ptr<plan_book::ticket> order,
                                 const run_options& options) {
  if (life_ != life::open)
    throw closed_error();
  if (r.stopped_by)
    return; // whoever stopped it answers
  begin_deadline(r, options);
  note_deadline(r);
  if (plans_.wait_for(order->key, r))
    ask_for_plan(placement_actor_, std::move(order));
}

error session_core::closed_error() const {
  return error{errc::engine_closed, "session '" + setup_.options.name + "' is closed"};
}

void session_core::begin_deadline(run_state& r, const run_options& options) {
  if (options.deadline.count() > 0)
    r.deadline = services_.system.clock().now() + std::min(options.deadline, longest_wait);
}

void session_core::admit(run_state& r, std::unique_lock<std::mutex> lock, bool guest,
                         const run_options* fresh) {
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
      note_deadline(r);
      if (!entrance_.queue_full()) {
        entrance_.enqueue(r);
        return;
      }
      if (!guest)
        throw error{errc::queue_full, "session '" + setup_.options.name + "' has " +
                                          std::to_string(entrance_.queued()) + " requests waiting already"};
      changed_.wait(lock, [&] { return life_ != life::open || r.stopped_by || !entrance_.queue_full(); });
    }
    note_deadline(r);
  } catch (const error&) {
    deadlines_.forget(r);
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
  if (nodes_.anyone_down() || !entrance_.slot_free())
    return nullptr;
  const auto arena_bytes = r.plan->source->arena_bytes;
  // A kept block is taken before the lease is asked for, which may need its bytes.
  auto arena = arena_bytes > 0 ? setup_.blocks->take(arena_bytes) : memory_block{};
  memory_lease lease;
  std::vector<memory_lease> others;
  if (!try_lease(r, lease, others)) {
    if (arena.data())
      setup_.blocks->give(std::move(arena));
    r.waits_for_memory = true;
    if (!r.deadline) {
      r.deadline = services_.system.clock().now() + patience_with_holders;
      r.deadline_of_patience = true;
    }
    return nullptr;
  }
  if (arena.bytes() < arena_bytes)
    arena = memory_block{arena_bytes};
  r.waits_for_memory = false;
  if (r.deadline_of_patience) {
    deadlines_.forget(r);
    r.deadline.reset();
    r.deadline_of_patience = false;
  }
  const auto slot = entrance_.take_slot();
  auto& f = runtime_.slot(slot);
  auto& memory = frame_memories_[slot];
  if (!memory || !memory->reusable()) {
    memory = nullptr;
    memory = new frame_memory{ledger_->name(), setup_.blocks};
  }
  memory->open(std::move(arena), std::move(lease));
  f.memory = memory;
  if (!others.empty())
    devices_.open(f, *r.plan->source, std::move(others));
  f.number = ++frames_opened_;
  f.opened_after_kill = services_.kills.load(std::memory_order_relaxed);
  f.trace = services_.trace.load(std::memory_order_acquire);
  r.may_run_again = setup_.options.on_device_loss == device_loss::retry && may_run_again(r);
  // A first frame may turn out to need more than was inferred: then it runs in parts.
  if (r.may_run_again || (bounded_ && r.plan->fresh()))
    r.kept_feeds = r.feeds;
  // Complete before anybody else sees it: from now on it may be stopped, or be sent tokens.
  f.open(r.plan, std::move(r.feeds), nullptr, *this);
  f.shared = f.shared || !r.external.empty();
  running_[slot] = &r;
  r.slot = slot;
  if (!busy_)
    busy_ = std::move(r.keeps_session);
  if (!r.external.empty()) {
    f.activities.fetch_add(static_cast<std::uint32_t>(r.external.size()), std::memory_order_relaxed);
    external_frames_.emplace(f.number, slot);
  }
  return &f;
}

bool session_core::try_lease(const run_state& r, memory_lease& own, std::vector<memory_lease>& others) {
  const auto bytes = r.plan->frame_bytes();
  const auto outcome = ledger_->try_lease(bytes, memory_use::frames, own);
  if (outcome == lease_outcome::never_fits)
    throw error{errc::out_of_memory,
                "a frame needs " + std::to_string(bytes) + " bytes; " + ledger_->report()};
  if (outcome == lease_outcome::full) {
    // Somebody may have given bytes back before we were on the list of those who wait: try once more.
    watch_memory();
    if (ledger_->try_lease(bytes, memory_use::frames, own) != lease_outcome::granted)
      return false;
  }
  if (r.plan->source->devices.size() <= 1 ||
      devices_.try_lease(*r.plan->source, others, admission_later(false)))
    return true;
  own = {};
  return false;
}

void session_core::watch_memory() {
  if (!std::exchange(memory_watched_, true))
    ledger_->when_freed(admission_later(true));
}

std::function<void()> session_core::admission_later(bool memory_freed) {
  return [alive = weak_from_this(), threads = setup_.threads, memory_freed] {
    threads->submit(*new retry_job{[alive, memory_freed] {
      if (const auto self = alive.lock())
        self->admit_waiting(memory_freed);
    }});
  };
}

void session_core::opened(frame& f, run_state& r) {
  for (auto* cell : f.plan->absent_stateful)
    if (auto* next = cell->order->skip(f.number)) {
      auto& waiting = next->state(cell->state_offset);
      waiting.has_turn = true;
      setup_.threads->submit(waiting);
    }
  f.in_burst = f.plan->expects_forks();
  if (f.in_burst)
    setup_.threads->begin_burst();
  if (r.when_opened)
    r.when_opened(f.number);
}

frame* session_core::open_next(std::vector<intrusive_ptr<run_state>>& refused) {
  while (auto* const r = entrance_.front()) {
    if (setup_.options.join_requests > 1 && joins(*r))
      continue;
    try {
      auto* const f = try_open(*r);
      if (f)
        static_cast<void>(entrance_.remove(*r));
      else
        note_deadline(*r);
      return f;
    } catch (const error&) {
      r->stopped_by = std::current_exception();
      deadlines_.forget(*r);
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
  auto& memory = *frame_memories_[f.slot]; // likewise
  r->plan->note_loose_bytes(memory.peak());
  f.memory = nullptr;
  memory.close();
  if (!f.accounts.empty())
    session_devices::close(f);

  std::shared_ptr<session_core> self; // the last handle may go with the outcome
  std::vector<intrusive_ptr<run_state>> refused;
  std::vector<caf::actor> dead;
  frame* next = nullptr;
  intrusive_ptr<run_state> next_request;
  std::exception_ptr stopped_by;
  bool last = false;
  bool again = false;
  {
    const std::lock_guard lock{mutex_};
    running_[f.slot] = nullptr;
    r->slot.reset();
    stopped_by = r->stopped_by;
    if (!external_frames_.empty())
      external_frames_.erase(f.number); // also if its tokens have all come
    deadlines_.forget(*r);
    entrance_.give_slot(f.slot);
    again = runs_again(*r, outcome);
    if (again)
      run_again(*r);
    next = open_next(refused);
    if (next)
      next_request = running_[next->slot];
    if (entrance_.in_flight() == 0) {
      self = std::move(busy_);
      dead = nodes_.take_dead(); // nobody calls them any more
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
  if (!again && (r->kept_feeds.empty() || !runs_in_parts(*r, outcome)))
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

void session_core::callback_failed(const std::string& what) noexcept {
  callbacks_failed_.fetch_add(1, std::memory_order_relaxed);
  std::clog << "sluice: a callback of session '" + setup_.options.name + "' threw: " + what + '\n';
}

std::shared_ptr<const executable_plan> session_core::make_plan(const plan_book::ticket& t) {
  auto request = t.request;
  request.places = places(request, false);
  auto planned = sluice::make_plan(setup_.model, constants_, request, *services_.kernels);
  if (setup_.options.place_by_cost && !devices_.could_hold(*planned)) {
    // Arenas are safe for every order, placement counts with one.
    request.places = places(request, true);
    planned = sluice::make_plan(setup_.model, constants_, request, *services_.kernels);
  }
  if (!planned->devices.empty()) {
    const std::lock_guard lock{mutex_};
    for (auto* cell : runtime_.add_transfers(*planned))
      monitor_node(session_actor_, nodes_.add(*cell));
  }
  auto made = runtime_.bind(planned);
  const_cast<executable_plan&>(*made).result_names =
      std::make_shared<const std::vector<std::string>>(t.result_names);
  if (must_cut(*made))
    return made; // no frame will run it
  const std::lock_guard lock{mutex_};
  const auto packed = services_.kernels->packed_bytes();
  packed_.shrink_to(packed);
  if (packed > packed_.bytes() && !packed_.try_grow(packed - packed_.bytes()))
    throw error{errc::out_of_memory,
                "packed weights take " + std::to_string(packed) + " bytes; " + ledger_->report()};
  return made;
}

void session_core::plan_ready(const plan_book::ticket& t, std::shared_ptr<const executable_plan> p,
                              std::exception_ptr failure) {
  {
    const std::lock_guard lock{mutex_};
    ++handing_over_;
  }
  if (p && must_cut(*p)) {
    cut_waiting(t, std::move(p));
    return handed_over();
  }
  for (const auto& r : plans_.file(t.key, p)) {
    if (!failure) {
      r->plan = p;
      admit(*r, std::unique_lock{mutex_}, false, nullptr);
      continue;
    }
    {
      const std::lock_guard lock{mutex_};
      deadlines_.forget(*r);
    }
    r->settle(failure, true);
  }
  handed_over();
}

void session_core::handed_over() {
  const std::lock_guard lock{mutex_};
  --handing_over_;
  changed_.notify_all(); // close() waits for those who wait for plans, too
}

std::uint32_t session_core::in_flight() {
  const std::lock_guard lock{mutex_};
  return entrance_.in_flight();
}

} // namespace sluice
